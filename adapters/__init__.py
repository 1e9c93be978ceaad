"""Strict readers of the transcripts that coding-agent hosts write.

Bytes go in, raw records come out; nothing here stores, signs or sends anything. This package knows neither
``timeline`` nor ``sidecars``: an adapter can be fuzzed without any key.
"""
