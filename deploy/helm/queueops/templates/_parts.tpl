{{- define "queueops.labels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "queueops.container" -}}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  {{- range $name, $value := .root.Values.env }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
envFrom:
  {{- range .root.Values.envFromSecrets }}
  - secretRef: {name: {{ . }}}
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "queueops.pod" -}}
terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
volumes:
  - {name: tmp, emptyDir: {}}
{{- end }}

{{- define "queueops.probe" -}}
httpGet:
  path: {{ .root.Values.consolePath }}{{ .path }}
  port: http
  httpHeaders: # without them the project redirects to https, which counts as a success, whatever the store does
    - {name: Host, value: {{ .root.Values.host }}}
    - {name: X-Forwarded-Proto, value: https}
timeoutSeconds: 5
{{- end }}
