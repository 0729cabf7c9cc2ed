"""Record fields of the sample kind."""

from queueops.model.fields import Field

FIELDS = {"zr": Field("rounds_ended", "whole")}
