"""What colleagues say to each other in passing: a talk has stages, and each stage several ways to put it."""

TALKS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("Did you see that the tests were green all night?", "The whole suite passed tonight. I checked twice."),
        ("I did, and it made me nervous.", "All of them? Somebody must have switched something off."),
        (
            "I looked: nothing was skipped. We are allowed to enjoy it.",
            "That was my first thought too, and it was wrong.",
        ),
    ),
    (
        (
            "The flaky one is back. It failed at four and passed at five.",
            "I found the flaky test asleep in the log again.",
        ),
        (
            "Does it still wait for a second instead of for the thing itself?",
            "What does it depend on that we do not control?",
        ),
        (
            "On the clock, I think. I will make it wait for the event.",
            "It sleeps and hopes. I will give it something to wait for.",
        ),
        ("Then it will be the best test we have.", "Good. A test should know what it is waiting for."),
    ),
    (
        (
            "I deleted four hundred lines this morning and nothing happened.",
            "I took out the old importer. Nobody has called yet.",
        ),
        (
            "The best kind of change. Is there more where that came from?",
            "Nothing at all? Then it was not code, it was furniture.",
        ),
        ("There is a whole folder. I want a witness for it.", "I am almost sure about the next two hundred."),
    ),
    (
        ("Coffee?", "I am on my way to the machine. Shall I bring you one?"),
        (
            "Please. Today I need it to think and not to stay awake.",
            "Yes. The strong one, not the one that says strong.",
        ),
        ("Then I get two, and you explain the diagram.", "Done. In return you read my change before noon."),
    ),
    (
        (
            "What do you call a thing that is neither a job nor a task?",
            "I need a name for something that runs once and remembers it.",
        ),
        ("An errand.", "I would call it a visit. It comes, it looks, it leaves a note."),
        ("That is good. It even tells me what it must not do.", "I wanted to say no, and then I liked it."),
    ),
    (
        (
            "Somebody has watered the plastic plant again.",
            "The plant by the window has a puddle. It is the one made of cloth.",
        ),
        (
            "It shows initiative. I would not want to discourage it.",
            "That was me. I wanted to see whether anybody reads the sign.",
        ),
        ("Then I withdraw the incident report.", "I will write it down as a drill."),
    ),
    (
        (
            "The cat has found the warm spot on the server rack.",
            "Have you seen the cat? It sits where the heat comes out.",
        ),
        ("It knows our load better than the dashboard does.", "As long as it does not press anything."),
        ("It pressed Escape once. Nobody noticed for an hour.", "I am thinking of giving it an alert channel."),
    ),
    (
        (
            "I wrote the page for newcomers. It is half as long as the old one.",
            "Could a newcomer follow our README, do you think?",
        ),
        (
            "Give it to somebody who has never seen us, and watch without helping.",
            "The first command works. After that it gets personal.",
        ),
        ("I did that, and I had to sit on my hands.", "I will try it on Jo; nobody forgets faster on purpose."),
    ),
    (
        (
            "I slept on your idea, and I like it less. I think that is a good sign.",
            "About your sketch from yesterday: the left half is right.",
        ),
        ("Which part woke you?", "I expected the right half to survive. Tell me."),
        (
            "The part where two places know the same thing. One of them will lie.",
            "It works until somebody is in a hurry, and somebody always is.",
        ),
        ("Then only one of them may know it. I will redraw it.", "You are right, and I had hoped you would be."),
    ),
    (
        ("Who is on call tonight?", "I have the pager until Thursday. It is quiet, and I am not trusting it."),
        (
            "I am, and I wrote down what I would do for the first ten minutes.",
            "What would you do first if it rang now?",
        ),
        ("Look before touching. It has saved me more often than skill.", "I would read the last change, aloud."),
    ),
    (
        ("I measured it before I made it faster, for once.", "Guess which half of the start-up takes the time."),
        ("And it was not where you thought?", "The part that nobody has opened since spring?"),
        ("It was the logging of how fast it is.", "We were reading the same file eleven times, with care each time."),
        ("Please leave that in the talk for the new ones.", "I will never be proud of a guess again."),
    ),
    (
        ("Would you rather have one good test or ten that pass?", "I think our tests agree with the code too much."),
        ("One that has failed at least once in front of me.", "Then break the code and see which of them complains."),
        ("Three out of forty did. The rest were being polite.", "I did. It was a quiet room."),
    ),
    (
        ("Is it lunch yet?", "There is soup today, and I say that without joy."),
        ("In ten minutes it was always lunch.", "I will come when this is green, so: perhaps."),
        ("I will keep you a chair.", "I shall count to ten slowly."),
    ),
    (
        (
            "Somebody asked for a button that undoes everything.",
            "We have a request for a setting that turns the settings off.",
        ),
        ("Who would press it, and how would they know?", "What did they want to have back?"),
        (
            "One afternoon of their work. So it is not a button, it is a history.",
            "They were afraid of one other setting. I will make that one safe.",
        ),
        ("That is a better feature, and it is smaller.", "Then we have an answer instead of a button."),
    ),
    (
        ("I read our first commit today. It says: a start.", "Do you remember why we wrote it in this order?"),
        ("We were honest once.", "Because the door had to work before the rooms did."),
        ("I will put the date on the wall.", "It still shows, and I mean that kindly."),
    ),
    (
        ("Your talk yesterday had one slide, and I remember it.", "I counted: you said ‘simply’ four times yesterday."),
        ("That was the idea. The other nine were for me.", "Each time I knew that it was not."),
        ("Keep the one, and say it slower.", "I will sit in the front row next time and cough."),
    ),
)
