# SPDX-License-Identifier: Apache-2.0
"""The objects that rule files of Nsight Compute use while they run. `trace rules apply` creates them; they do not exist
otherwise.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

INTERFACE = "2024.1.1"  # release of NVIDIA's ncu_report with these methods
RuleKind_DEFAULT, RuleKind_GUIDED = range(2)
_TEXT = str  # alias of str, for methods with a parameter called str


Marker = Tuple[str, int, int, str, int]  # text, address or line, kind, file name, type


class FocusMetric(NamedTuple):
    """A metric that a message is about."""

    name: str
    value: float
    severity: int
    info: str


class Message:
    """A message with its focus metrics and estimated speedup."""

    def __init__(self, number: int, kind: int, text: str, title: Optional[str]) -> None:
        self.number, self.kind, self.text, self.title = number, kind, text, title
        self.focus_metrics: List[FocusMetric] = []
        self.speedup: Optional[Tuple[int, float]] = None  # type, per cent


# A piece of a rule's output: a message, an encoded chart, or the identifier of a proposed rule.
Item = Union[Message, bytes, str]


class IFrontend:
    """The output of a rule: messages, metrics, notes, charts and numbers."""

    MsgType_MSG_NONE, MsgType_MSG_OK, MsgType_MSG_OPTIMIZATION, MsgType_MSG_WARNING, MsgType_MSG_ERROR = range(5)
    MarkerKind_SASS, MarkerKind_SOURCE = range(2)
    Severity_SEVERITY_DEFAULT, Severity_SEVERITY_LOW, Severity_SEVERITY_HIGH = range(3)
    SpeedupType_LOCAL, SpeedupType_GLOBAL = range(2)

    def __init__(self, load_chart: Callable[[str], bytes], parents: Dict[str, Dict[str, float]]) -> None:
        self.items: List[Item] = []
        self.markers: List[Marker] = []
        self.sent: Dict[str, float] = {}
        self._load_chart, self._parents = load_chart, parents
        self._messages: Dict[int, Message] = {}

    def message(self, *args: Any) -> int:
        """Add a message: message([type,] text[, title]). Returns its number."""
        kind = self.MsgType_MSG_NONE
        if args and not isinstance(args[0], str):
            kind, args = int(args[0]), args[1:]
        if not 1 <= len(args) <= 2 or not isinstance(args[0], str) or not 0 <= kind <= self.MsgType_MSG_ERROR:
            raise TypeError("message() takes [type,] text[, title]")
        made = Message(len(self._messages) + 1, kind, args[0], args[1] if len(args) == 2 else None)
        self._messages[made.number] = made
        self.items.append(made)
        return made.number

    def speedup(self, message_id: int, type: int, estimated_speedup: float) -> bool:
        """Set the estimated speedup of a message in percent. Returns False if there is no such message."""
        message = self._messages.get(message_id)
        if message is None or type not in (self.SpeedupType_LOCAL, self.SpeedupType_GLOBAL):
            return False
        message.speedup = (type, float(estimated_speedup))
        return True

    def focus_metric(self, message_id: int, metric_name: str, metric_value: float, severity: int, info: str) -> bool:
        """Add a metric that a message is about. Returns False if there is no such message."""
        message = self._messages.get(message_id)
        if message is None or not 0 <= severity <= self.Severity_SEVERITY_HIGH:
            return False
        message.focus_metrics.append(FocusMetric(str(metric_name), float(metric_value), severity, str(info)))
        return True

    def source_marker(self, str: str, address_or_line: int, kind: int, *args: Any) -> None:
        """Add a note at an instruction or line: source_marker(text, address or line, kind[, file name][, type])."""
        file_name, rest = ("", args) if not args or not isinstance(args[0], _TEXT) else (args[0], args[1:])
        if len(rest) > 1 or kind not in (self.MarkerKind_SASS, self.MarkerKind_SOURCE):
            raise TypeError("source_marker() takes text, address or line, kind[, file name][, type]")
        self.markers.append((str, int(address_or_line), kind, file_name, rest[0] if rest else self.MsgType_MSG_NONE))

    def load_chart_from_file(self, filename: str) -> None:
        """Add the chart or table of a file in the folder of the rule.

        Raises OSError, and ValueError with line and column for an invalid text."""
        self.items.append(self._load_chart(filename))

    def send_dict_to_children(self, dict: Dict[str, float]) -> None:
        """Send numbers to the rules that name this one in get_parent_rules_identifiers()."""
        self.sent = {str(key): float(value) for key, value in dict.items()}

    def receive_dict_from_parent(self, parent_id: str) -> Dict[str, float]:
        """Return the numbers that a parent rule has sent; empty if it has sent none."""
        return dict(self._parents.get(parent_id, {}))


class IMessageVault:
    """Numbers that rules store for each other, by identifier."""

    def __init__(self, kept: Dict[str, Dict[str, float]]) -> None:
        self._kept = kept

    def Put(self, ruleId: str, message: Dict[str, float]) -> None:
        """Store numbers under the name of a rule."""
        self._kept[str(ruleId)] = {str(key): float(value) for key, value in message.items()}

    def Get(self, ruleId: str) -> Dict[str, float]:
        """Return the numbers stored under the name of a rule."""
        return dict(self._kept.get(ruleId, {}))


class IBackend:
    """The interface for questions about instructions. It is not available: IContext.backend() returns None."""

    def get_opcodes(self, action: Any, pipeline: str) -> List[str]:
        """Return no opcodes: the opcodes of a pipeline are not known."""
        return []


class IController:
    """The interface for proposals of other rules."""

    def __init__(self, frontend: IFrontend, vault: IMessageVault) -> None:
        self._frontend, self._vault = frontend, vault

    def propose_rule(self, rule: str) -> None:
        """Propose a rule by its identifier."""
        self._frontend.items.append(str(rule))

    def get_message_vault(self) -> IMessageVault:
        """Return the vault where rules store numbers for each other."""
        return self._vault


class IBaseContext:
    """The common base of contexts and evaluators."""

    def get_version(self) -> str:
        """Return the release of Nsight Compute whose interface this is."""
        return INTERFACE

    def handle_exception(self, msg: str) -> bool:
        """End the running rule, which could not be applied, by SystemError. Returns False if no rule is running."""
        return False


class IEvaluator(IBaseContext):
    """Receiver of the requirements of a rule's evaluate()."""

    def __init__(self) -> None:
        self.metrics: List[str] = []
        self.rules: List[str] = []

    def require_metric(self, metric: str) -> None:
        """Require a metric."""
        self.metrics.append(str(metric))

    def require_rule(self, rule: str) -> None:
        """Require another rule."""
        self.rules.append(str(rule))
