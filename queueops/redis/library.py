"""Lua library: the store's half of QueueOps, which a server loads once.

Each file of ``lua/`` is one function of the library: what a call runs. Each file of ``lua/lib/`` is one module. It
fills ``lib``, which modules share, and ``fresh``, the initial values of what belongs to one call. ``--@needs`` names
the modules that a file uses. The files are joined unchanged: a module stands in ``do ... end``, a function in
``function ... end``. The state tables are generated from ``queueops.model.states``: state names are written once.
So is ``F``, the short name of a record's field in the store by its long one: ``record[F.parent_id]``.

The kernel's files stand here. Each kind of ``queueops.model.kinds`` brings its own from its package. A name is used
once among all of them.

A server without functions gets the same files as scripts, one for each function.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from queueops.model import kinds, states, subkeys
from queueops.model.state_types import PartStates
from queueops.redis import keys

KERNEL = "queueops.redis"
"""The package with the functions and modules that serve every kind."""
BASE = "base"
"""The module that stands before all others, outside of ``do ... end``."""
PREFIX = "queueops_"
"""How the name of each version's library begins."""
ALLOW_OOM = "redis.call('DEL', KEYS[1] .. ':none')\n"
"""Replaces the flag on servers before version 7, which permit writes after a write that needs no memory."""
DENY_OOM = "redis.call('SETRANGE', KEYS[1] .. ':none', 0, '')\n"
"""Replaces its absence there: it changes nothing, and a full store refuses it, and so all of the script."""
_HOOK = "hooks"
"""Occurs in every file that fills or calls a hook: the other files need no search."""
_NEEDS = re.compile(r"^--@needs (.+)$", re.MULTILINE)
_HOOKS = re.compile(r"^lib\.hooks\.(\w+) = (of_kinds\(\)|\{\}).*\n((?:--  \..*\n)*)", re.MULTILINE)
_WORDS = re.compile(r"^--  \.(\w+):", re.MULTILINE)
_FILLS = re.compile(r"^(?:function (?=[\w.]+\()|(?=[\w.]+ = ))lib\.hooks\.(\w+)((?:\.\w+)*)", re.MULTILINE)
_KNOWN_FILL = re.compile(r"^(?:function lib\.hooks(?:\.\w+)+\(|lib\.hooks(?:\.\w+)+ = )", re.MULTILINE)
_KEY = r"\[(?:[^\[\]]|\[[^\]]*\])*\]"
_PART = rf"(?:\s*\.\s*\w+|\s*{_KEY})"
_FILLS_HIDDEN = re.compile(
    r"\bfunction\s+lib\s*\.\s*hooks\b"
    r"|\blib(?:\s*\[\s*['\"]hooks\b|\s+\.\s*hooks\b|\.\s+hooks\b)"
    r"|\blib\.hooks\b(?!\.\w)"  # an alias of all hooks
    r"|(?<!pairs\()\blib\.hooks\.\w+\b(?!\s*[.\[(])"  # an alias of one, or what rawset takes
    rf"|\blib\.hooks{_PART}+\s*(?:,\s*\w+{_PART}*\s*)*=(?!=)"
)
"""Where a file may fill a hook in another form than the known one, which is taken out before."""
_HIDDEN_BEGINS = re.compile(r"function|lib")
"""What each of these forms begins with: the search for a literal word is fast."""
_CALLS = re.compile(
    r"lib(?<!function lib)(?<!\wlib)\.hooks\.(\w+)\b(?!(?:\.\w+)* = )"
    rf"(?:((?:\.\w+)+)|{_KEY} or NONE\)(\.\w+)|\) do if each(\.\w+))?"
)
_FIELD = re.compile(r"\bF\.(\w+)")
_FLAGS = re.compile(r"#!lua(?: flags=([\w,-]+))?\n")
LOOKS = ("fsck", "sample")
"""Functions that write only if they are told to. Each has a second form that only reads. A server that refuses writes
still runs it."""
_REGISTER = """\
local function register(name, flags)
  local run = functions[name]
  redis.register_function({ function_name = name .. '_DIGEST', flags = flags, callback = function(keys, arguments)
    enter(keys, arguments)
    return run()
  end })
end
"""


class Module(NamedTuple):
    """One file: its text, and the modules that it needs."""

    text: str
    needs: tuple[str, ...]
    fills: tuple[tuple[str, str], ...] = ()
    """The hooks that it fills, each with its words, such as `.lane`, or `.chain.reset`."""
    calls: tuple[tuple[str, str], ...] = ()
    """The hooks that it calls, each with the words that are known."""


class Function(NamedTuple):
    """One function of the library: its flags, its body, and the modules that it needs."""

    flags: tuple[str, ...]
    text: str
    needs: tuple[str, ...]


def _needs(text: str) -> tuple[str, ...]:
    return tuple(name for line in _NEEDS.findall(text) for name in line.split())


def _calls(text: str) -> tuple[tuple[str, str], ...]:
    return (
        tuple(dict.fromkeys((hook, "".join(words)) for hook, *words in _CALLS.findall(text))) if _HOOK in text else ()
    )


def _files(path: str) -> dict[str, str]:
    """The texts of the files in this folder of the kernel and of each kind, by name."""
    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    packages = {"kernel": KERNEL} | {kind.name: type(kind).__module__ for kind in kinds.registered()}
    for kind, package in packages.items():
        folder = resources.files(package).joinpath(path)
        for file in folder.iterdir() if folder.is_dir() else ():
            name = file.name.removesuffix(".lua")
            if name == file.name:
                continue
            if name in owners:
                raise LookupError(f"{owners[name]} and {kind} both bring {path}/{file.name} to the Lua library")
            owners[name] = kind
            found[name] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


@functools.cache
def modules() -> Mapping[str, Module]:
    """All modules, by name. Raises LookupError if two kinds bring the same name."""
    return {
        name: Module(text, _needs(text), () if name == BASE else tuple(_FILLS.findall(text)), _calls(text))
        for name, text in _files("lua/lib").items()
    }


@functools.cache
def functions() -> Mapping[str, Function]:
    """All functions, by name. Raises LookupError as `modules`, or if a file does not begin with its flags."""
    found = {name: _function(name, text) for name, text in _files("lua").items()}
    return found | {f"look_{name}": found[name]._replace(flags=("no-writes",)) for name in LOOKS}


def _function(name: str, text: str) -> Function:
    first = _FLAGS.match(text)
    if first is None:
        raise LookupError(f"the function {name} does not begin with '#!lua', and its flags if it has any")
    body = text[first.end() :]
    return Function(tuple((first[1] or "").split(",")) if first[1] else (), body, _needs(body))


def in_order(
    wanted: tuple[str, ...], known: Mapping[str, Module], by: str = "a function of the Lua library"
) -> list[str]:
    """The modules that `by` needs, and those that these need, each after what it needs.

    Raises LookupError for a module that is missing, and for modules that need each other in a circle.
    """
    order: dict[str, None] = {}
    open_: list[str] = []

    def add(name: str, by: str) -> None:
        if name in open_:
            circle = " -> ".join([*open_[open_.index(name) :], name])
            raise LookupError(f"modules of the Lua library need each other in a circle: {circle}")
        if name not in known:
            raise LookupError(f"{by} needs the module {name}, which is missing from this installation of queueops")
        open_.append(name)
        for needed in known[name].needs:
            if needed not in order:
                add(needed, f"the module {name}")
        open_.pop()
        order[name] = None

    for name in wanted:
        if name not in order:
            add(name, by)
    return list(order)


def _refuse_hidden(file: str, text: str) -> None:
    """Raise LookupError for a line that may fill a hook unseen: `hooks` would not know it."""
    if _HOOK not in text:
        return
    code = re.sub(r"--.*", "", text)
    rest = _KNOWN_FILL.sub("", code)
    found = (_FILLS_HIDDEN.match(rest, begin.start()) for begin in _HIDDEN_BEGINS.finditer(rest))
    if hidden := next(filter(None, found), None):
        number = hidden.string.count("\n", 0, hidden.start())
        raise LookupError(
            f"{file}, line {number + 1}, may fill a hook: {code.splitlines()[number].strip()!r}."
            " Write `function lib.hooks.<moment>.<kind>.<word>(...)` at the beginning of a line to fill it,"
            " and `lib.hooks.<moment>` with a key or a call to ask it"
        )


@functools.cache
def hooks() -> Mapping[str, Mapping[str, str]]:
    """The modules that fill each hook of the kernel, by hook and words, such as `.lane`, or `.chain.reset`.

    Raises LookupError for a hook that the kernel does not have, and for one that is filled twice.
    """
    known = {hook: (form != "{}", _WORDS.findall(words)) for hook, form, words in _HOOKS.findall(modules()[BASE].text)}
    found: dict[str, dict[str, str]] = {hook: {} for hook in known}
    named = {each for kind in kinds.registered() for each in (kind.name, *kind.records)}
    for name, function in functions().items():
        _refuse_hidden(f"{name}.lua", f"\n{function.text}")  # its first line has the flags
    for name, module in modules().items():
        if name != BASE:
            _refuse_hidden(f"lib/{name}.lua", module.text)
        for hook, words in module.fills:
            of_kinds, wanted = known.get(hook, (False, []))
            kind, _, word = words[1:].partition(".") if of_kinds else ("", "", words[1:])
            if not word or hook not in known or (wanted and word not in wanted):
                raise LookupError(f"the module {name} fills the hook {hook}{words}, which the kernel does not have")
            if of_kinds and kind not in named:
                reason = f"there is no kind {kind}, nor such records"
                raise LookupError(f"the module {name} fills the hook {hook}{words}: {reason}")
            if words in found[hook]:
                raise LookupError(f"the modules {found[hook][words]} and {name} both fill the hook {hook}{words}")
            found[hook][words] = name
    return found


def modules_of(name: str) -> list[str]:
    """The modules of a script, in order: those that its function needs, and those that fill the hooks called there."""
    each, fillers = functions()[name], hooks()
    wanted = (BASE, *each.needs)
    while True:
        order = in_order(wanted, modules(), f"the function {name}")
        missing: set[str] = set()
        callers = {f"the function {name}": _calls(each.text)} | {
            f"the module {one}": modules()[one].calls for one in order
        }
        for caller, called in callers.items():
            _refuse_unknown_hooks(caller, called)
            for hook, words in called:
                filling = (module for known, module in fillers[hook].items() if known.endswith(words))
                missing |= set(filling) - set(order)
        if not missing:
            return order
        wanted = (*wanted, *sorted(missing))


def _refuse_unknown_hooks(caller: str, called: tuple[tuple[str, str], ...]) -> None:
    if unknown := [hook for hook, _ in called if hook not in hooks()]:
        raise LookupError(f"{caller} calls the hook {unknown[0]}, which the kernel does not have")


def _set(name: str, members: tuple[str, ...]) -> str:
    return f"local {name} = {{ {', '.join(f'{state} = true' for state in members)} }}\n"


def _claimed() -> str:
    return ", ".join(f"['{phase}'] = '{state}'" for phase, state in kinds.leased_as().items())


def _tables_of(parts: PartStates) -> str:
    verbs = dict.fromkeys(verb for verbs in parts.actions.values() for verb in verbs)
    rows = (f"{verb} = {{ {', '.join(f'{state} = true' for state in parts.allowing(verb))} }}" for verb in verbs)
    word, all_states = parts.word.upper(), ", ".join(f"'{state}'" for state in parts.classes)
    return f"local {word}_STATES = {{ {all_states} }}\nlocal {word}_ALLOWED = {{ {', '.join(rows)} }}\n"


def state_tables() -> str:
    """The Lua tables of the states, from ``queueops.model.states`` and the states of parts. Raises BadKind."""
    states.check_kinds()
    known = states.table()
    classes = ", ".join(f"{state} = '{kind}'" for state, kind in known.classes.items())
    replaceable = tuple(dict.fromkeys(t.source for t in known.transitions if t.verb == "push" and t.source))
    parts_held = tuple(state for state in states.held() if state not in known.classes)
    tables = (
        f"local CLASS = {{ {classes} }}\n",
        f"local STATES = '{' '.join((*known.classes, *parts_held))}'\n",
        f"local CLAIMED_AS = {{ {_claimed()} }}\n",
        _set("LEASED", states.held()),
        _set("TIMED", states.TIMED),
        _set("TERMINAL", states.TERMINAL),
        _set("REPLACEABLE", replaceable),
        *map(_tables_of, states.part_states()),
    )
    return "".join(tables)


def _kind_tables() -> str:
    """The Lua tables of sub-keys and kinds.

    They are a table by kinds; the records of own work; the names of sub-keys; those of a record that are erased and
    carried with it: of the kernel, and of kinds; kinds of record; fields read at a success; and which kinds have
    sub-keys.
    """
    named = ", ".join(f"['{name}'] = '#{name}'" for name in keys.subkey_names())
    erased = ", ".join(f"'{each.name}'" for each in subkeys.RECORD if each.erased)
    carried = ", ".join(f"'{each.name}'" for each in subkeys.RECORD if each.carried)
    of_kinds = ", ".join(f"'{key}'" for kind in kinds.registered() for key in kind.subkeys)
    records = ", ".join(f"'{record}'" for kind in kinds.registered() for record in kind.records)
    subkeyed = tuple(record for kind in kinds.registered() if kind.subkeys for record in kind.records)
    more = ", ".join(f"'{short}'" for short, field in kinds.fields().items() if field.at_success)
    names = dict.fromkeys(each for kind in kinds.registered() for each in (kind.name, *kind.records))
    tables = (
        f"local function of_kinds() return {{ {', '.join(f'{name} = {{}}' for name in names)} }} end\n",
        f"local OWN_WORK = {{ {', '.join(map(repr, kinds.OWN_WORK))} }}\n",
        f"local SUBKEY = {{ {named} }}\n",
        f"local ERASED, CARRIED, SUBKEYS = {{ {erased} }}, {{ {carried} }}, {{ {of_kinds} }}\n",
        f"local RECORD_KINDS = {{ {records} }}\nlocal MORE = {{ {more} }}\n",
        _set("SUBKEYED", subkeyed),
    )
    return "".join(tables)


def _field_table(text: str) -> str:
    """The Lua table of the record fields that a text names: `F.state` is `s`. Raises LookupError for an unknown one."""
    known = {field.name: short for short, field in kinds.fields().items()}
    wanted = sorted(set(_FIELD.findall(text)))
    if unknown := [name for name in wanted if name not in known]:
        raise LookupError(f"the Lua library names the record field {unknown[0]}, which no kind has")
    entries = ", ".join(f"{name} = '{known[name]}'" for name in wanted)
    return f"local F = {{ {entries} }}\n"


def _joined(names: list[str], bodies: str) -> str:
    """The tables and modules of a library, and the functions that use them."""
    known = modules()
    rest = "".join(f"do -- {name}\n{known[name].text}end\n" for name in names if name != BASE)
    text = f"{known[BASE].text}{rest}{bodies}"
    return f"{state_tables()}{_kind_tables()}{_field_table(text)}{text}"


_BEGINS = re.compile(r"do -- (\w+)|function functions\.(\w+)\(\)|local function run\(\)")
_BASE_BEGINS = "-- Base of the library."
_ENDS = ("local function register(", "enter(KEYS")


def place(text: str, line: int, function: str) -> str:
    """The file, and the line in it, of a line of a joined text; servers report errors by the latter.

    `function` is the one that was called: the text of a script does not name it.
    """
    lines = text.splitlines()
    for number in range(line, 0, -1):
        here = lines[number - 1]
        if here.startswith(_ENDS):
            break
        if here.startswith(_BASE_BEGINS):
            return f"lib/{BASE}.lua, line {line - number + 1}"
        if begins := _BEGINS.fullmatch(here):
            module, named = begins.groups()
            if module:
                return f"lib/{module}.lua, line {line - number}"
            return f"{named or function}.lua, line {line - number + 1}"  # its first line has the flags
    return f"line {line} of what joins its files"


class Library(NamedTuple):
    """The text of a library, and its digest, by which its name and the names of its functions end."""

    digest: str
    text: str

    @property
    def name(self) -> str:
        """The name of the library on the server."""
        return f"{PREFIX}{self.digest}"

    def function(self, name: str) -> str:
        """The name of a function on the server, where old and new versions are side by side."""
        return f"{name}_{self.digest}"


@functools.cache
def library() -> Library:
    """The library of this version. Raises LookupError if files are missing or contradict each other."""
    for name, each in functions().items():
        in_order((BASE, *each.needs), modules(), f"the function {name}")
        _refuse_unknown_hooks(f"the function {name}", _calls(each.text))
    for name, module in modules().items():
        _refuse_unknown_hooks(f"the module {name}", module.calls)
    bodies = "".join(f"function functions.{name}()\n{each.text}end\n" for name, each in functions().items())
    calls = "".join(
        f"register('{name}', {{ {', '.join(map(repr, each.flags))} }})\n" for name, each in functions().items()
    )
    text = _joined(in_order(tuple(modules()), modules()), f"local functions = {{}}\n{bodies}")
    digest = hashlib.sha1(f"{text}{_REGISTER}{calls}".encode(), usedforsecurity=False).hexdigest()[:12]
    return Library(digest, f"#!lua name={PREFIX}{digest}\n{text}{_REGISTER.replace('DIGEST', digest)}{calls}")


@functools.cache
def script(name: str, *, shebang: bool = True) -> str:
    """The text of one function as a script. Without ``shebang`` for servers before version 7, which lack that line."""
    each = functions()[name]
    first = f"#!lua{' flags=' + ','.join(each.flags) if each.flags else ''}\n"
    if not shebang:
        first = "" if "no-writes" in each.flags else ALLOW_OOM if "allow-oom" in each.flags else DENY_OOM
    run = f"local function run()\n{each.text}end\nenter(KEYS, arguments)\nreturn run()\n"
    return f"{first}local arguments = ARGV\n{_joined(modules_of(name), run)}"
