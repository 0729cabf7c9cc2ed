"""What files of the console still name of kinds, and why. Lists that only become shorter."""

KNOWN: dict[str, str] = {}
"""By file, its words in order: what is left to move into the folders of kinds. The list is empty, and stays so."""
PROJECT: dict[str, str] = {
    "console/project/settings.py": "jobs jobs jobs",
    "console/project/urls.py": "jobs jobs",
}
"""The stand-alone project, which switches the HTTP API of jobs on: it uses kinds as any project does."""
FOREIGN: dict[str, str] = {
    "console/access/pools.py": "schedule",  # how names of URLs begin
    "console/actions/operations.py": "is_cut",  # of a list of pools that was not read to its end
    "console/admin.py": "group group",  # of users
    "console/models.py": "group group",  # of users
    "console/pages/errors.py": "group group",  # of errors
    "console/pages/export.py": "schedule",  # column of a registered task
    "console/pages/overview/first_steps.py": "schedules",  # what the watchdog is for
    "templates/console/help.html": "schedules",  # the same
    "templates/console/registry/keys.html": "chunks chunks",  # what waits for a key beside tasks
    "console/ui/render.py": "Jobs jobs jobs",  # a group of the navigation
    "console/templatetags/console.py": "activity",  # an icon
    "console/ui/stored_words.py": "follow-up follow_up",  # a line that the engine writes about any task
    "console/ui/kind_pages.py": "follow_ups outbox schedules",  # parts of the engine that register pages as kinds do
}
"""Words that mean no kind."""
