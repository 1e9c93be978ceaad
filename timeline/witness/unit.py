"""The text of a systemd unit that serves a witness."""

import shlex
from pathlib import PurePath
from typing import Final

from timeline.witness.endpoint import UnixEndpoint

_HEAD: Final = """\
# A witness for transparency logs, under a user of its own. Once, as root:
#   useradd --system --shell /usr/sbin/nologin timeline-witness
#   install -d -m 0700 -o timeline-witness -g timeline-witness {folder}
#   runuser -u timeline-witness -- {program} init --dir {folder}
#   runuser -u timeline-witness -- {program} add-log --dir {folder} VKEY
# then put this file at /etc/systemd/system/timeline-witness.service and run
#   systemctl enable --now timeline-witness
"""

_USER_HEAD: Final = """\
# A witness for transparency logs, under your own user: it outlives a restored timeline, and does not stop a program
# that has your rights. Put this file at ~/.config/systemd/user/timeline-witness.service and run
#   {program} init --dir {folder}
#   {program} add-log --dir {folder} VKEY
#   systemctl --user enable --now timeline-witness
"""

_BODY: Final = """\
[Unit]
Description=Witness for transparency logs (C2SP tlog-witness)

[Service]
Type=exec
ExecStart={program} serve --dir {folder} --socket {socket} --socket-mode {mode}
{account}Restart=on-failure
UMask=0077
NoNewPrivileges=yes
MemoryMax=256M
TasksMax=64
{sandbox}
[Install]
WantedBy={target}
"""

_SANDBOX: Final = """\
CapabilityBoundingSet=
LockPersonality=yes
MemoryDenyWriteExecute=yes
PrivateDevices=yes
PrivateNetwork=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome={home}
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
ReadWritePaths={folder}
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
"""

SYSTEM_FOLDER: Final = "/var/lib/timeline-witness"
SYSTEM_SOCKET: Final = UnixEndpoint("/run/timeline-witness/socket")


def format_unit(program: str, *, folder: str, socket: UnixEndpoint, own_user: bool) -> str:
    """The unit: under a user of its own, with every door closed but the socket, or under the caller's own."""
    typed = {"program": shlex.quote(program), "folder": shlex.quote(folder)}
    called = {"program": _word(program), "folder": _argument(folder), "socket": _argument(socket.path)}
    account = "" if own_user else "User=timeline-witness\nGroup=timeline-witness\n"
    # A program below a home must stay readable, where the sandbox would hide all homes.
    home = "read-only" if PurePath(program).parts[1:2] in (("home",), ("root",)) else "yes"
    return (_USER_HEAD if own_user else _HEAD).format(**typed) + _BODY.format(
        **called,
        # Everybody may ask: what a witness takes is signed, and what it gives is public.
        mode="0600" if own_user else "0666",
        account=account + "RuntimeDirectory=timeline-witness\nRuntimeDirectoryMode=0755\n",
        sandbox="" if own_user else _SANDBOX.format(folder=_word(folder), home=home),
        target="default.target" if own_user else "multi-user.target",
    )


def _argument(word: str) -> str:
    """A word of a command line, in which systemd would replace variables too."""
    return _word(word.replace("$", "$$"))


def _word(word: str) -> str:
    """A word as systemd reads it: its own signs escaped, and in quotes where it has spaces."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    return f'"{escaped}"' if any(character.isspace() for character in word) else escaped
