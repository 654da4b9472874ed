"""The embedded stack: `broadsheet stack`, and `Stack` for programs (the demo, the tests).

Reading order: layout.py (names, ports, files), components.py (what runs and with which settings),
supervisor.py (the process that keeps it running), control.py (`Stack`), commands.py (the command line).
"""

from __future__ import annotations

from cli.stack.commands import stack
from cli.stack.control import DEFAULT_FOLDER, ComponentStatus, Stack, StackError, StackStatus, free_ports
from cli.stack.layout import COMPONENTS, Ports

__all__ = [
    "COMPONENTS",
    "DEFAULT_FOLDER",
    "ComponentStatus",
    "Ports",
    "Stack",
    "StackError",
    "StackStatus",
    "free_ports",
    "stack",
]
