"""Whether everything that has to work does, and the command that mends what does not (X10).

``gather`` looks at files, daemon and hosts and changes nothing; ``checks`` and ``host_checks`` decide what the facts
mean, without another look. Every code is in ``docs/doctor.md``.
"""
