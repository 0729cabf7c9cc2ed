"""Template tags for trees: branches, counts, and the actions on each part."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.actions.catalog import Action, actions_on
from console.kinds.composites.tree_page import TreePage
from console.ui import live_list, state_badges
from console.ui.badges import icon
from console.ui.formatting import count
from queueops.inspect import Branch, Part, TaskRow

register = template.Library()

OFFERED = ("retry", "rerun", "run_now", "requeue", "cancel", "release")
"""The verbs that are offered in a tree; the others need a form, and stand on the part's own page."""
SMALL = 20
"""A branch of more parts is shut at first."""


@register.filter
def node_key(part: Part) -> str:
    """An id of a part that is safe as an element's id."""
    return live_list.short(f"{part.pool} {part.id}")


@register.filter
def actions_of(row: TaskRow, may: frozenset[str]) -> list[Action]:
    """The actions on a part that the row offers."""
    return [action for verb, action in actions_on(row).items() if verb in OFFERED and action.permission in may]


@register.simple_tag
def branch_counts(branch: Branch) -> SafeString:
    """The number of parts in each state; of very many only how many have ended."""
    return format_html_join(
        " ",
        '<span class="tally {}">{}{} {}</span>',
        (
            (
                state_badges.css_class(state),
                icon(state_badges.look(state).icon),
                count(number),
                state_badges.label(state),
            )
            for state, number in branch.counts
        ),
    )


@register.simple_tag
def opening(tree: TreePage, part: Part) -> str:
    """The URL that opens this part's branch."""
    return format_html("{}#n-{}", tree.opening(part.id), node_key(part))


@register.filter
def is_small(branch: Branch) -> bool:
    """Whether a branch is small enough to be open from the start."""
    return (branch.total or len(branch.rows)) <= SMALL


@register.filter
def was_opened(part: Part, tree: TreePage) -> bool:
    """Whether the request opened this branch."""
    return part.id in tree.opened
