"""What tests use of Streamlit's inside: its messages, and what knows a run of a page.

Beside it, tests/ui/test_compat.py tries what viz_transformer/ui/compat.py replaces.
"""

from __future__ import annotations

from streamlit.components.v2 import manifest_scanner
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import local_script_runner
from streamlit.util import calc_hash

__all__ = [
    "BackMsg",
    "Element",
    "ForwardMsg",
    "SafeSessionState",
    "ScriptRunContext",
    "calc_hash",
    "get_script_run_ctx",
    "local_script_runner",
    "manifest_scanner",
    "script_run_context",
]
