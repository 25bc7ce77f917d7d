"""`python -m fake_cli.demo [TOPIC] [--seed N]`: two personas argue in this process, to hear a dossier."""

import os

from .persona import Persona

KEYWORD = "[CONVERSATION_END]"
TOPIC = "Should a young product be one program or a set of microservices?"


def instructions(name: str, role: str, others: dict[str, str], topic: str, keyword: str = KEYWORD) -> str:
    """The least that a persona has to be told."""
    listed = ", ".join(f"{other} ({other_role})" for other, other_role in others.items())
    return (
        f"You are {name}, the {role}. You are in a conversation with {listed}.\nTopic: {topic}\n"
        f"Say the keyword {keyword} only when all of you agree that nothing is left to say."
    )


def said(name: str, role: str, words: str) -> str:
    return f'<said-0 by="{name}" role="{role}">\n{words}\n</said-0>'


def argue(topic: str, cast: dict[str, str], seed: str = "0", limit: int = 40) -> list[tuple[str, str]]:
    """The whole argument as (speaker, words), the keyword included."""
    personas = {}
    for name, role in cast.items():
        others = {n: r for n, r in cast.items() if n != name}
        personas[name] = Persona(instructions(name, role, others, topic), seed)
    turns: list[tuple[str, str]] = []
    heard: dict[str, int] = dict.fromkeys(cast, 0)
    names = list(cast)
    while len(turns) < limit:
        name = names[len(turns) % len(names)]
        unheard = [(n, w) for n, w in turns[heard[name] :] if n != name]
        prompt = "\n\n".join(said(n, cast[n], w) for n, w in unheard) or "Please begin."
        words = personas[name].answer(prompt)
        personas[name].remember(prompt, words)
        heard[name] = len(turns) + 1
        turns.append((name, words))
        if KEYWORD in words:
            break
    return turns


def main() -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m fake_cli.demo", description="Two personas argue.")
    parser.add_argument("topic", nargs="*", default=[TOPIC])
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    topic = " ".join(options.topic)
    try:
        print(f"{topic}\n")
        for name, words in argue(topic, {"Ada": "optimist", "Bo": "sceptic"}, options.seed):
            print(f"{name}: {words.replace(KEYWORD, '').strip()}\n", flush=True)
    except BrokenPipeError:  # whoever read has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
