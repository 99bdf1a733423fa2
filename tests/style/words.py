"""Words that check_style.py refuses: CONTRIBUTING.md, Words, has what to write in their place."""
import re

# In all files.
QUAINT = re.compile(r"""
    \bmend(?:ed|s)?\b | is\ not\ a\ text\b | is\ no\ type\ of | that\ is\ no\ UTF | it\ is\ no\ lora
    | taking\ it\ along | the\ mean\ of\ steps | \banew\b | \bmade\ up\ for\b | \bdrawn\ weights\b | \blikeliest\b
    | \bstands?\ beside\b | \bstands?\ in\ other\b | \btold\ apart\b | \bbeside\ each\ other\b | \bvalues?\ put\ out\b
    | \bthan\ is\ wanted\b | \bis\ not\ as\ it\ was\ written\b
    | \bof\ which\ \S+\ (?:do|does)\ not\ count\b | \bof\ which\ a\ warning\b
    | \btravels?\b | \bgo(?:es)?\ on\b(?!\ LD) | \bgoing\ on\b
    | \b(?:continu|go)(?:e?s|ing|ed)?\ (?:on\ )?from\ (?:a|the|its)\ (?:newest\ )?checkpoint
    | \bheeded\b | \bgives?\ rise\ to\b | \bin\ the\ making\b | \bnot\ (?:its|their)\ business\b
    | \b(?:has|have)\ learnt\ to\b | \b(?:if|as)\ so\ wished\b | \bwithout\ a\ word\b | \bvouch(?:es|ed)?\b
    | \btells?\ each\ other\b | \btells?\ apart\b | \bother\ people's\b | \bno\ run\ comes\ to\b | \bcomes?\ there\b
    | \bgives?\ up\ on\ a\ text\b | \btakes?\ up\ where\b | \bwith\ what\ tells\b
    | \bso\ many\b(?!.*\bthat\b)
    """, re.I | re.X)

# In all files, as words, and as parts of names (records_beside, NobodyWaits): next to, along with, in addition to;
# after, by; no rank, unknown; reports, distinguishes. What lags or falls behind may do so.
QUAINT_PARTS = re.compile(r"""
    (?<![A-Za-z])(?:beside|nobody|whoever|somebody|tells)(?![A-Za-z])
    | (?<![A-Za-z])(?<!lag\ )(?<!lags\ )(?<!fall\ )(?<!falls\ )behind(?![A-Za-z])
    | (?<![A-Z])(?:Beside|Nobody|Whoever|Somebody|Tells|Behind)(?![a-z])
    | (?<![A-Z])(?:BESIDE|BEHIND|NOBODY)(?![A-Z])
    """, re.X)

# In C++ and CMake files: home-made identifier -> the field's.
HOME_MADE = {
    r"(?:start_(?:small_)?|wire_)sum": "all_reduce",
    r"(?:Node|Quick|\w*Wire|RankOrder)Sum": "...AllReduce",
    r"Wire(?:Codec)?|kWires|wire_from": "CommDtype",
    r"[Ll]edger_?": "CommStats",
    r"Announcement": "OpSignature",
    r"\w*[Pp]atience_?[sS]_?|Watchdog::Patience": "timeout",
    r"cuda_(?:gate|turn)": "cuda_swiglu, cuda_rope",
    r"Law": "Distribution",
    r"WeightAverage": "ExponentialMovingAverage",
    r"MemoryNeed": "MemoryEstimate",
    r"Interview": "GenerationEvaluation",
    r"TuningNotes": "ProvenanceMetadata",
    r"(?:check_s|S)ame_?[rR]un": "ResumeCompatibility",
    r"Survey|survey_images": "DatasetScan",
    r"mask_all": "mask_prompt",
    r"start_anew": "start_over",
    r"kNumTold": "status",
    r"inspect_gradients": "prepare_update",
    r"joins_empty": "runs_on_empty_batch",
    r"Resumption": "ResumeMode",
    r"OptionWorth": "OptionEffect",
    r"Standings": "Ranking",
    r"culprit": "bottleneck",
    r"is_hasty": "stop_requested",
    r"Voice": "Verbosity",
    r"\w*[Ss]peaker": "ModelSource",
    r"Meeting|meeting_?": "AsyncBarrier, scheduling round",
    r"(?:transposed_)?product\(at::": "matmul",
    r"AskedAt": "GenerationPhase",
    r"SetMix": "DatasetMixture",
    r"ReadAhead": "Prefetcher",
    r"RunStart": "ResumeDecision",
    r"ShareKept": "RejectedChange",
}

# The same, for words that are plain English in comments and messages.
HOME_MADE_NAMES = {
    r"with_": "parts_",
    r"how_?": "options, or what it holds",
}
