"""States of the sample kind: a worker runs a round of the task, or the task rests before one."""

from queueops.model.state_types import Actor, KindStates, StateClass

TURNING, RESTING = "turning", "resting"

STATES = KindStates(
    classes={TURNING: StateClass.LEASED, RESTING: StateClass.PARKED},
    actions={TURNING: ("cancel", "release"), RESTING: ("cancel",)},
    verbs=("rest", "wake"),
    leased_as={"sample": TURNING},
    transitions=(
        (TURNING, "succeeded", "settle", (Actor.WORKER,)),
        ("pending", RESTING, "rest", (Actor.OPERATOR,)),
        (RESTING, "pending", "wake", (Actor.OPERATOR,)),
    ),
)
