"""The small talk of an argument: how one takes up the other's words before saying one's own.

Two voices, so that two people sound different. {q} is a few words of the other.
"""

VOICES: list[dict[str, list[str]]] = [
    {
        "attack": [
            "“{q}” sounds right until somebody has to live with it.",
            "You say “{q}”, and I keep looking for the part that follows from it.",
            "I would believe “{q}” if it came with its price.",
            "There is a step missing behind “{q}”.",
            "Where you see “{q}”, I see the beginning of the trouble.",
            "Your “{q}” carries more weight in that argument than it can bear.",
        ],
        "defend": [
            "“{q}” hits a version of my point that I did not make.",
            "Suppose “{q}” is true: that changes the price and not the conclusion.",
            "I can take “{q}” and still keep what I said.",
            "“{q}” is a fair shot, and it goes past the mark.",
        ],
        "ask": [
            "Before I accept “{q}”, one question.",
            "You say “{q}”; let me ask it the other way round.",
            "“{q}” leaves something out.",
            "Measure it by “{q}”, if you like.",
        ],
        "return": [
            "“{q}”, you ask, and I would like to hear your own answer first.",
            "“{q}” is a good question, and it is not the only one.",
            "I could be asked worse things than “{q}”.",
        ],
        "answer": [
            "My own answer to “{q}” is short.",
            "You hand “{q}” back to me, which is fair.",
            "“{q}”: I do not mind saying.",
        ],
        "concede": [
            "“{q}” has bothered me since you said it.",
            "I will stop defending myself against “{q}”.",
            "Let me give you “{q}”, because it is true.",
            "You were right with “{q}”, and I was slow to hear it.",
        ],
        "pivot": [
            "That does not end it.",
            "It moves the question without settling it.",
            "What it does not touch is this.",
        ],
        "propose": [
            "With “{q}” on the table, let me try to say where we are.",
            "“{q}” brings us close to something that we can both sign.",
        ],
        "confirm": [
            "“{q}”: I can put my name to that.",
            "“{q}” is how I would have put it if I had thought of it.",
        ],
        "close": [
            "“{q}” completes it.",
            "With “{q}” in it I have nothing left to argue.",
        ],
        "more": [
            "“{q}” was well said, and since we are still here, one more thing.",
            "While we have the time: “{q}” has a neighbour.",
        ],
        "plain": [
            "I heard “{q}”, and it sends me to something else.",
            "“{q}” is a point of its own; mine is a different one.",
        ],
    },
    {
        "attack": [
            "I hear “{q}”, and I wish it were so.",
            "Let me hold on to “{q}”, because everything turns on it.",
            "“{q}” is well said, and I think it is the wrong way round.",
            "With “{q}” you are describing the brochure.",
            "I used to say “{q}” myself, for about a year.",
            "If “{q}” were the whole story, I would be on your side.",
        ],
        "defend": [
            "I can see why “{q}” looks like an answer to me.",
            "“{q}” would worry me if it were the usual case.",
            "You put “{q}” in my way, and I would like to walk round it slowly.",
            "“{q}” is half of it, and here is the other half.",
        ],
        "ask": [
            "“{q}” made me curious.",
            "I turned “{q}” over in my mind, and it became a question.",
            "Let me set something beside “{q}”.",
            "I will come back to “{q}”, but help me with this first.",
        ],
        "return": [
            "You want to know “{q}”, and so do I, from you.",
            "“{q}” is the right question, and I am not sure that you will like where it leads.",
            "Let me leave “{q}” open for a moment.",
        ],
        "answer": [
            "Since you ask me “{q}” in return, here it is.",
            "“{q}”: I can only tell you what I have seen.",
            "I hoped that “{q}” would come back to me.",
        ],
        "concede": [
            "I have been thinking about “{q}”, and I would like to take something back.",
            "You have me with “{q}”.",
            "“{q}” is a better point than the one I was making.",
            "When you said “{q}” I had no reply, and I still have none.",
        ],
        "pivot": [
            "And yet there is a second thing.",
            "Still, I would not stop there.",
            "Let me put something beside it.",
        ],
        "propose": [
            "When I hear “{q}”, I think that we are nearly there.",
            "“{q}” is no longer far from what I think, so let me try.",
        ],
        "confirm": [
            "“{q}”: yes, I can live in that sentence.",
            "I had hoped that one of us would say “{q}”.",
        ],
        "close": [
            "“{q}”, yes, that belongs in it.",
            "I had forgotten “{q}”, and I am glad that you had not.",
        ],
        "more": [
            "Something about “{q}” still will not let me go.",
            "I have one more thought, and “{q}” is where it begins.",
        ],
        "plain": [
            "What you said about “{q}” reminds me of something.",
            "I take “{q}” with me, and I would put this beside it.",
        ],
    },
]  # fmt: skip

# How a role argues: the weights of attacking, asking and conceding, how soon it looks for agreement, and a side.
ROLES: list[tuple[str, tuple[int, int, int, int], str]] = [
    ("scepti|skepti|critic|opponent|contra|doubt", (5, 3, 1, 1), "b"),
    ("devil|provoc", (6, 2, 1, 0), "b"),
    ("pragmat|engineer|operator|conserv|realist|review", (3, 2, 2, 2), "b"),
    ("optimis|advocate|propon|visionar|enthus|author|founder", (3, 1, 2, 2), "a"),
    ("moderat|mediat|facilit|chair|host|interview", (1, 5, 2, 3), ""),
    ("histor|philos|research|scien|analyst", (2, 4, 2, 2), ""),
]
ANY_ROLE = (3, 2, 2, 2)
