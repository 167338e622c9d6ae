"""Whether something listens at an address: asked before an engine is, which would take minutes to give up.

What belongs here: the one look at a port. What does not: what speaks there, and what a user is told to do.
"""

from __future__ import annotations

import socket

CONNECT_S = 10


def refusal(address: str) -> str | None:
    """Why nothing can be reached at `host:port`, with or without a scheme; None if it can.

    Of several, separated by commas, one is enough. None too for what has no port, as a word that stands for
    an address.
    """
    found = None
    for one in address.rpartition("://")[2].split(","):
        host, colon, port = one.rpartition(":")
        if not colon or not port.isdigit():
            return None
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
            return None
        except OSError as error:
            found = error.strerror or str(error)
    return found
