"""Who may do what, written out: the tests compare the console with this, and not with its own table."""

from __future__ import annotations

GROUPS = {
    "viewers": {"view"},
    "operators": {"view", "operate", "see_arguments"},
    "administrators": {"view", "operate", "destroy", "configure", "see_arguments"},
}
"""The permissions of the groups that the first migration makes."""

NEEDED = {
    "anyone": """
        healthz login logout readyz
    """,
    "view": """
        views view-save view-rename view-delete
        alerts alerts-rows
        aggregations aggregations-rows api-tokens audit audit-entry audit-live callbacks callbacks-rows chunks
        commands commands-alias commands-rows
        error error-live errors errors-rows find palette help history-live history-values icons
        files files-rows
        outbox outbox-rows
        lane lane-live lanes lanes-rows pool pool-live missing overview overview-live
        registry registry-rows registry-task registry-task-live
        schedule schedule-backfill schedule-live schedules schedules-rows settings
        settings-save audit-dismiss status task task-attempts task-audit task-children task-chunk task-chunk-live
        task-chunks
        task-chunks-live task-chunks-rows task-delivery task-live task-log task-mapreduce task-run task-timeline
        task-why tasks tasks-complete tasks-rows tasks-search worker worker-live workers workers-rows
        workflows workflows-rows workflows-search
    """,
    "see_arguments": """
        registry-push schedule-edit schedule-new task-chunk-edit task-chunks-edit task-edit task-raw
    """,
    "export": """
        export task-export
    """,
    "operate": """
        alert-acknowledge alert-unacknowledge alert-silence alert-unsilence
        aggregation-close_circuit file-keep callbacks-redeliver-all callbacks-redirect callbacks-redirect-all
        callbacks-test chunks-retry
        error-note error-reopen error-resolve
        audit-go-on audit-operation commands-requeue commands-requeue-dead schedule-run task-cancel task-chunk-edit-save
        outbox-retry
        schedule-backfill-run task-cancel_runs task-reset_runs task-resume_runs task-retry-step task-signal_runs
        task-suspend_runs task-terminate-run worker-stacks workflow-start
        task-chunks-drop task-chunks-edit-save task-chunks-postpone task-chunks-release task-chunks-restart
        task-chunks-retry task-chunks-skip task-chunks-speculate task-edit-save task-interrupt task-keep task-move
        task-postpone task-priority task-reinstate task-release task-requeue task-rerun task-retry
        task-run_now tasks-all-cancel tasks-all-interrupt tasks-all-move
        tasks-all-release tasks-all-postpone tasks-all-reinstate
        tasks-all-requeue tasks-all-retry tasks-all-run_now tasks-cancel tasks-interrupt
        tasks-move tasks-release tasks-postpone
        tasks-reinstate tasks-requeue tasks-retry tasks-run_now undo
    """,
    "destroy": """
        aggregation-remove file-delete
        outbox-drop
        commands-drop commands-drop-dead pool-empty_trash task-delete task-discard tasks-all-delete tasks-all-discard
        tasks-delete tasks-discard
    """,
    "push": """
        name-push
    """,
    "configure": """
        alert-rule-silence alert-rule-unsilence alert-test
        aggregation-accept aggregation-drain aggregation-proxy
        aggregation-pause aggregation-resume aggregation-set lane-pause lane-resume lane-set pool-pause pool-resume
        name-pause name-resume
        api-token-create api-token-revoke maintenance-start maintenance-stop
        schedule-create schedule-delete schedule-edit-save schedule-pause
        schedule-resume worker-quiet worker-stop
    """,
}
"""By permission, the names of the URLs that need it."""

VERB_OF = {name: verb for verb, names in NEEDED.items() for name in names.split()}
TAKING_ARGUMENTS = {
    "aggregation-proxy",
    "callbacks-redirect",
    "callbacks-redirect-all",
    "callbacks-test",
    "error-note",
    "name-push",
    "schedule-create",
    "schedule-edit-save",
    "task-chunk-edit-save",
    "task-chunks-edit-save",
    "task-edit-save",
    "task-signal_runs",
    "workflow-start",
}
"""URLs that need the permission to see arguments too."""


def may(group: str, name: str) -> bool:
    """Whether a member of the group may use the URL of this name."""
    return VERB_OF[name] == "anyone" or VERB_OF[name] in GROUPS.get(group, set())
