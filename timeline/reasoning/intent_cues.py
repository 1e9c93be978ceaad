"""The cues that an intent is told by (``intent``): closed lists, English and German. Pure.

Every repetition has a bound, so that no cue takes more than a fixed number of steps from any place of a text.
"""

import re
from typing import Final

import msgspec

from sidecars.graded import Intent


class Cue(msgspec.Struct, frozen=True):
    """One cue: our name for it, and how its words look in small letters."""

    name: str
    pattern: re.Pattern[str]


def _cues(*pairs: tuple[str, str]) -> tuple[Cue, ...]:
    return tuple(Cue(name, re.compile(pattern)) for name, pattern in pairs)


_FALSE: Final = (
    r"(?:false|untrue|wrong|incorrect|nonsense|a lie|a hoax|a myth|made up|outdated|fabricated|bogus|not true"
    r"|not the case|"
    r"not correct)"
)
_FALSCH: Final = (
    r"(?:falsch|unwahr|unsinn|gelogen|erfunden|nicht wahr|nicht der fall|quatsch|eine lüge|ein mythos)"
)
_CLAIM: Final = (
    r"(?:claim|rumou?r|report|story|statement|assertion|allegation|news|headline|idea|notion|belief)s?"
)
_BEHAUPTUNG: Final = r"(?:behauptung|gerücht|geschichte|aussage|meldung|nachricht|annahme|vorstellung|these)"
_WORK: Final = (
    r"(?:novel|story|short story|tale|fairy tale|film|movie|play|game|comic|screenplay|series|sitcom|saga|poem"
    r"|fable|manga|"
    r"anime|opera|musical|campaign|book|trilogy|fan ?fiction|script|legend|episode|video game|d&d session|session)"
)
_WERK: Final = (
    r"(?:roman|geschichte|kurzgeschichte|erzählung|märchen|film|theaterstück|stück|spiel|comic|drehbuch|serie|saga|"
    r"gedicht|fabel|buch|rollenspiel|hörspiel|oper|legende|sage|kampagne|krimi)"
)

CUES: Final[tuple[tuple[Intent, tuple[Cue, ...]], ...]] = (
    (
        "disclaimed",
        _cues(
            ("said-to-be-false", rf"\b{_CLAIM}\b.{{0,120}}\b(?:is|are|was|were)\b (?:\w+ ){{0,3}}{_FALSE}\b"),
            ("it-is-false", rf"\b(?:it is|it's|it was|it isn't) (?:\w+ ){{0,2}}{_FALSE}\b"),
            (
                "it-is-a-misconception",
                r"\b(?:it is|it's) (?:\w+ ){0,3}(?:misconception|fallacy|urban legend)\b",
            ),
            ("which-is-false", rf"\b(?:which|that|this|it)(?: is|'s| was) (?:\w+ ){{0,4}}{_FALSE}\b"),
            ("turned-out-false", rf"\bturned out to be {_FALSE}\b"),
            (
                "said-but-not",
                (
                    r"\b(?:say|says|said|think|thinks|claim|claims|believe|believes|assume|assumes"
                    r"|rumou?red)\b.{1,160}"
                    r"\b(?:but|yet|though|however)\b,? (?:i|he|she|it|that|this|they|we|you)(?:'m| am| is|'s"
                    r"| are|'re| was| do"
                    r"| does| did)? ?(?:not\b|\w{1,6}n't\b|n't\b|isn't|aren't|don't|doesn't|didn't|never\b)"
                ),
            ),
            ("contrary-to", r"\b(?:contrary to|despite (?:the |all )?rumou?rs)\b"),
            ("do-not-believe", r"\b(?:do not|don't|never) (?:believe|trust) (?:the|that|what|any|those)\b"),
            ("that-is-a-lie", r"\bis (?:a|an outright|a plain) lie\b"),
            (
                "gesagt-falsch",
                rf"\b{_BEHAUPTUNG}\b.{{0,120}}\bist (?:\w+ ){{0,3}}{_FALSCH}\b",
            ),
            (
                "stimmt-nicht",
                r"\b(?:das |was |es )?(?:stimmt|trifft) (?:\w+ ){0,2}nicht\b|\bnicht (?:stimmt|zutrifft)\b",
            ),
            ("ist-falsch", rf"\b(?:es|das|was) (?:ist|war) (?:\w+ ){{0,3}}{_FALSCH}\b"),
            ("irrtum", r"\bes ist (?:\w+ ){0,4}(?:irrtum|irrglaube|märchen|mythos)\b"),
            (
                "gesagt-aber-nicht",
                (
                    r"\b(?:sagt|sagen|denken|denkt|glauben|glaubt|behaupten|behauptet|meinen"
                    r"|heißt)\b.{1,160}\baber\b.{0,40}"
                    r"\b(?:nicht|kein|keine|keiner)\b"
                ),
            ),
            ("entgegen", r"\bentgegen (?:dem|der|den|aller|allen|anderslautend\w{0,4})\b"),
            ("frei-erfunden", r"\bfrei erfunden\b"),
        ),
    ),
    (
        "fictional",
        _cues(
            (
                "in-a-work",
                (
                    rf"(?:^|[,;:] )(?:in|at the end of|throughout) (?:the|my|our|this|that|his|her|your|a"
                    rf"|one) (?:\w+ ){{0,2}}"
                    rf"{_WORK}\b(?! (?:was|is|has) (?:published|written|released))"
                ),
            ),
            ("person-of-a-work", r"\b(?:protagonist|antagonist|main character|narrator|villain|heroine)\b"),
            ("person-of-a-work", r"\b(?:hero|character)s? (?:of|in) (?:the|my|our|this) \w+"),
            ("my-character", r"\b(?:my|our|his|her|your) (?:\w+ )?(?:character|avatar)\b"),
            ("once-upon-a-time", r"\bonce upon a time\b"),
            ("part-of-a-work", r"(?:^|[,;:] )in (?:act|scene|chapter|canto|episode|season) (?:\w+)\b,"),
            (
                "role-play",
                r"\b(?:in (?:this|our|the) role ?-?play|in character:|let's pretend|let us pretend|we pretend)",
            ),
            ("stage-direction", r"^\*[^*]{1,120}\*"),
            (
                "invented-world",
                r"\b(?:middle-earth|hogwarts|westeros|narnia|in [\w']{1,40} (?:universe|mythos)\b)",
            ),
            (
                "in-einem-werk",
                (
                    rf"(?:^|[,;:] )(?:im|in der|in den|in dem|in meinem|in meiner|in unserem|in unserer"
                    rf"|in diesem|in dieser) "
                    rf"(?:\w+ ){{0,2}}{_WERK}\b"
                ),
            ),
            (
                "figur-eines-werks",
                r"\b(?:hauptfigur|romanfigur|protagonist(?:in)?|ich-erzähler|meine figur|mein charakter)\b",
            ),
            (
                "figur-eines-werks",
                rf"\b(?:held|heldin|schurke|bösewicht) (?:der|des|in|im) (?:\w+ ){{0,2}}{_WERK}",
            ),
            ("es-war-einmal", r"\bes war einmal\b"),
            ("teil-eines-werks", r"(?:^|[,;:] )im \w+ (?:akt|kapitel)\b"),
        ),
    ),
    (
        "hypothetical",
        _cues(
            (
                "joke",
                r"\b(?:just kidding|only joking|just joking|only kidding|yeah,? right|as if)\b|(?:^| )/s\.?$",
            ),
            ("scherz", r"\b(?:nur (?:ein|zum) (?:scherz|spaß)|war (?:nur )?ein scherz|ja,? klar,? und)\b"),
            (
                "suppose",
                (
                    r"^(?:but |and |so |now )?(?:suppose|supposing|imagine|assume|assuming|picture"
                    r"|consider a world|let's say|"
                    r"let us say|let's assume|let us assume|say (?:we|i|he|she|they|you|it|the)) "
                ),
            ),
            ("what-if", r"^(?:but |and |so )?what (?:if|would happen|happens if)\b(?! analysis)"),
            (
                "hypothetically",
                r"\b(?:hypothetically|hypothetical case|thought experiment|for the sake of argument)\b",
            ),
            (
                "if-clause",
                r"^(?:but |and |so |even |only |or )?if (?!statements|clauses|expressions|i (?:remember|recall))",
            ),
            ("if-clause", r"\bwould (?:\w+ ){1,8}if\b|\bif only\b|^(?:unless|provided that|in case) "),
            ("inverted", r"^(?:had|were|should) (?:i|you|he|she|it|we|they|the|this|that|my|our)\b(?!.*\?$)"),
            ("wish", r"\bi wish\b"),
            (
                "angenommen",
                (
                    r"^(?:mal |also |nur mal |einmal )?(?:angenommen|gesetzt den fall|nehmen wir an"
                    r"|nehmen wir mal an|gesetzt|"
                    r"stell dir vor|stellen wir uns vor|stellt euch vor|stellen sie sich vor)\b"
                ),
            ),
            ("was-waere-wenn", r"\bwas wäre,? wenn\b|\bwas passiert,? wenn\b"),
            ("hypothetisch", r"\bhypothetisch\b|\bgedankenexperiment\b"),
            (
                "wenn-satz",
                (
                    r"^(?:aber |und |auch |nur |selbst )?(?:wenn|falls|sofern) (?!ich mich (?:recht "
                    r"|richtig )?erinnere)"
                ),
            ),
            ("wenn-satz", r"\b(?:würde|würden|würdest|hätte|wäre)\b.{1,120}\bwenn\b"),
            (
                "konjunktiv",
                r"^(?:hätte|hätten|wäre|wären|würde|könnte ich|käme) (?:ich|du|er|sie|es|wir|ihr|das|der|die)\b",
            ),
        ),
    ),
    (
        "speculative",
        _cues(
            (
                "i-think",
                r"\bi (?:think|guess|suppose|suspect|assume|reckon|believe|imagine|presume|doubt|fear)\b(?! in\b)",
            ),
            (
                "i-would-guess",
                r"\bi(?:'d| would) (?:guess|say|think|bet)\b|\bmy (?:guess|hunch|impression) is\b",
            ),
            (
                "adverb",
                (
                    r"\b(?:probably|perhaps|maybe|presumably|possibly|apparently|supposedly|allegedly|seemingly"
                    r"|conceivably|"
                    r"reportedly)\b"
                ),
            ),
            (
                "likely",
                r"\b(?:is|are|was|were|it's|most|very|quite|will) (?:un)?likely\b|\bin all likelihood\b",
            ),
            (
                "modal",
                (
                    r"\b(?:might|could) (?:well |also |still |just |even )?(?:be|have|not)\b|\bmay (?:well |also "
                    r"|not )?(?:be|have)\b"
                ),
            ),
            (
                "seems",
                r"\b(?:it|this|that|he|she|there) (?:seems?|appears?)\b|\b(?:seems|appears) to (?:be|have)\b",
            ),
            ("looks-like", r"\b(?:it |that |this )?looks (?:like|as if|as though)\b"),
            (
                "as-far-as",
                (
                    r"\b(?:as far as (?:i|we) (?:know|can tell|remember)|to (?:my|our) knowledge|afaik|iirc|"
                    r"if i (?:remember|recall)|if memory serves|from memory)\b"
                ),
            ),
            ("not-sure", r"\b(?:not|n't|never) (?:\w+ )?(?:sure|certain)\b|\bunsure\b"),
            (
                "chance",
                r"\b(?:there is|there's) (?:a|some|every) (?:\w+ )?(?:chance|possibility)\b|^chances are\b",
            ),
            ("feeling", r"\bi have (?:a|the) (?:\w+ )?(?:feeling|impression|suspicion|hunch)\b"),
            ("said-to-be", r"\b(?:is|are|was|were) (?:said|rumou?red|thought|believed|supposed) to\b"),
            (
                "ich-glaube",
                (
                    r"\b(?:ich|wir) (?:glaube|denke|vermute|meine|schätze|fürchte|tippe|bezweifle|glauben|denken"
                    r"|vermuten)\b(?! an\b)"
                ),
            ),
            ("ich-nehme-an", r"\bich nehme an\b|\bnehme ich an\b|\b(?:glaube|denke|vermute|schätze) ich\b"),
            (
                "adverb",
                (
                    r"\b(?:vielleicht|vermutlich|wahrscheinlich|möglicherweise|eventuell|anscheinend|angeblich"
                    r"|womöglich|offenbar|"
                    r"mutmaßlich|vermeintlich|scheinbar|wohl)\b"
                ),
            ),
            ("duerfte", r"\b(?:dürfte|dürften|könnte|könnten|müsste|müssten)\b"),
            ("scheint", r"\bes scheint\b|\bscheint (?:\w+ ){0,6}zu\b|\bsieht (?:\w+ ){0,3}(?:nach|so aus)\b"),
            (
                "soweit",
                (
                    r"\b(?:soweit ich weiß|soviel ich weiß|meines wissens|wenn ich mich (?:recht "
                    r"|richtig )?erinnere)\b"
                ),
            ),
            ("nicht-sicher", r"\bnicht (?:\w+ )?sicher\b|\bunsicher\b"),
        ),
    ),
)
"""In the order in which they are asked."""
