"""Reads any file with a host's adapter and reports what it found. No enrollment, no state, nothing is kept.

One pass over the file as far as it reaches when it is opened, in bounded memory. It answers why a transcript is or
is not understood, before there is any consent to index it; its report holds no transcript text.
"""

from adapters.base import Adapter
from adapters.errors import AdapterError
from adapters.lines import Block, LineSplitter
from timeline.events import read_whole_header
from timeline.findings import Collector, Findings, refused_findings
from timeline.limits import READ_BYTES
from timeline.source import OpenSource, open_any


def inspect_file(adapter: Adapter, path: str) -> Findings:
    """Read the file at ``path`` (links are followed) and report what ``adapter`` makes of it.

    A file that the adapter refuses is a finding and no error.

    Raises:
        SourceError: there is no such file, it is not regular, it cannot be read, or it was cut short meanwhile.
    """
    with open_any(path) as opened:
        try:
            return _inspect(adapter, opened)
        except AdapterError as error:
            return refused_findings(adapter, error, opened.snapshot.size)


def _inspect(adapter: Adapter, opened: OpenSource) -> Findings:
    size = opened.snapshot.size
    header = read_whole_header(adapter, opened, size)
    reader, splitter, collector = adapter.reader(header), LineSplitter(), Collector()
    for position in range(0, size, READ_BYTES):
        for part in splitter.feed_blocks(opened.read(position, min(READ_BYTES, size - position))):
            collector.take(reader.feed_block(part) if isinstance(part, Block) else reader.feed(part))
    collector.take(reader.finish())
    return collector.findings(
        adapter, reader, app_version=header.app_version, size=size, pending=splitter.pending[1]
    )
