"""Runs commands of one program, whose --batch answers each line of its standard input by a line of JSON, and those of others."""

import json
import re
import subprocess


def line(arguments):
    """The arguments as a line of a batch."""
    if not all(arguments) or any("\n" in argument for argument in arguments):
        raise ValueError(f"a line of a batch has no such words: {arguments}")
    return " ".join(re.sub(r"([\s'\"\\])", r"\\\1", argument) for argument in arguments)


def run(program, commands, timeout=600):
    """The answers {"line", "status", "stdout", "stderr"} to `commands`, lists of arguments, by one process. RuntimeError where it ends early."""
    text = "".join(line(arguments) + "\n" for arguments in commands)
    done = subprocess.run([program, "--batch"], input=text, capture_output=True, text=True, encoding="utf-8", timeout=timeout)
    answers = [json.loads(answer) for answer in done.stdout.splitlines()]
    if done.returncode != 0 or done.stderr or [answer["line"] for answer in answers] != list(range(1, len(commands) + 1)):
        raise RuntimeError(f"{program} --batch: exit status {done.returncode}, {len(answers)} of {len(commands)} answers: {done.stderr[:2000]}")
    return answers


def run_alone(program, commands, timeout=120):
    """Answers as those of run(), by a process for each command."""
    answers = []
    for number, arguments in enumerate(commands, 1):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=timeout)
        answers.append({"line": number, "status": done.returncode, "stdout": done.stdout, "stderr": done.stderr})
    return answers
