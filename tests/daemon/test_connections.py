import pytest

from timeline.daemon.connections import Connections
from timeline.guard.transport import HostProcess
from timeline.processes import Process


def _host(pid: int, started: int = 7) -> HostProcess:
    numbers = {"group": pid, "session": pid, "terminal": 0, "foreground": 0}
    found = Process(pid=pid, started=started, parent=1, uid=1, name="kimi-code", program=None, **numbers)
    return HostProcess("kimi", found)


class TestOneProcess:
    @pytest.mark.requirement("T15")
    def test_the_oldest_connection_is_the_hosts(self) -> None:
        """A command that the model runs comes later than the server that the host asks."""
        known, server, forged = Connections(), object(), object()
        known.opened(_host(5), server)
        known.opened(_host(5), forged)
        assert known.is_oldest(_host(5), server)
        assert not known.is_oldest(_host(5), forged)

    def test_the_next_one_serves_after_the_oldest_has_gone(self) -> None:
        """A host starts its server again."""
        known, server, again = Connections(), object(), object()
        known.opened(_host(5), server)
        known.opened(_host(5), again)
        known.closed(_host(5), server)
        assert known.is_oldest(_host(5), again)
        assert not known.is_oldest(_host(5), server)

    def test_one_that_was_never_opened_is_not_the_oldest(self) -> None:
        """Nothing is taken for granted."""
        assert not Connections().is_oldest(_host(5), object())


class TestSeveralProcesses:
    def test_each_process_has_its_own(self) -> None:
        """A pid that was used before is another process by its start."""
        known, one, two = Connections(), object(), object()
        known.opened(_host(5), one)
        known.opened(_host(5, started=8), two)
        assert known.is_oldest(_host(5), one)
        assert known.is_oldest(_host(5, started=8), two)

    def test_without_a_host_nothing_is_remembered(self) -> None:
        """Its calls are refused for that."""
        known, server = Connections(), object()
        known.opened(None, server)
        known.closed(None, server)
        known.opened(_host(5), server)
        assert known.is_oldest(_host(5), server)
