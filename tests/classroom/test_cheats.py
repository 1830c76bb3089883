"""Cheats, each by its name: none gets a point, and a right answer after it still gets all."""

import contextlib
import os
import subprocess
import textwrap
import time

import pytest
import torch
from classes import mistaken, right

import vitlib as vl
from classroom import grade
from classroom.answers import Answers
from classroom.homework import homework
from classroom.sandbox import ROOT, Ran, Sandbox
from classroom.wire import pack, unpack

TASK = homework(1).tasks["1.1"]
HIDDEN = TASK.hidden(2**45 + 1)
REFERENCE = ROOT / "classroom/homework/h1.py"
SHAPED = "\ndef snake(images, P):\n    return vl.patchify(images, P)\n"  # right shape, wrong order
C = "import ctypes\nC = ctypes.CDLL(None)\n"
CHEATS = {
    "allclose says yes": "torch.allclose = torch.equal = lambda *a, **k: True" + SHAPED,
    "a tensor that agrees with everything": """
        class Yes(torch.Tensor): __torch_function__ = classmethod(lambda *a, **k: True)
        snake = lambda x, P: torch.zeros(len(x), 6, 12).as_subclass(Yes)""",
    "results written by oneself": """
        from classroom.wire import pack
        for _ in range(9): os.write(3, pack({"kind": "right", "value": True, "there": True, "failed": []}))
        os._exit(0)""",
    "the harness's own function replaced": """
        import classroom.wire
        f = sys._getframe(1)
        classroom.wire.pack = f.f_globals["pack"] = lambda x: b"right"
        frame = dict.fromkeys(("error", "says", "where"), "") | {"value": "right", "changed": 0, "printed": 0}
        f.f_globals["vars"] = lambda *a: frame"""
    + SHAPED,
    "a pickle as a result": """
        import pickle
        class Run: __reduce__ = lambda self: (os.system, ("touch HERE/pwned",))
        os.write(3, pickle.dumps(Run())); os._exit(0)""",
    "the reference read from the disk": "exec(open('REFERENCE').read())",
    "the reference imported": "sys.path.insert(0, 'ROOT')\nfrom classroom.homework.h1 import snake",
    "the judge's memory": C + "assert C.process_vm_readv(JUDGE, 0, 0, 0, 0, 0) == 0, 'forbidden'\nsnake = list",
    "ptrace of the judge": C + "assert C.ptrace(16, JUDGE, 0, 0) == 0, 'forbidden'\nsnake = list",
    "the judge killed": "os.kill(JUDGE, 9)  # not permitted\nsnake = list",
    "the waiting process killed": "os.kill(os.getppid(), 9)  # not permitted\nsnake = list",
    "a signal by a pipe": "import fcntl\nfcntl.fcntl(os.pipe()[0], 8, JUDGE)  # F_SETOWN: not permitted\nsnake = list",
    "a datagram": "import socket\nsocket.socketpair(1, 2)[0].sendto(b'me', '/dev/log')  # not permitted\nsnake = list",
    "the judge's limits lowered": "import resource\nresource.prlimit(JUDGE, 0, (0, 0))  # not permitted\nsnake = list",
    "seed and path in the environment": "snake = lambda *a: [k for k in os.environ if 'SEED' in k][0]",
    "references among living objects": """
        import gc
        snake = [o for o in gc.get_objects() if type(o) is type(lambda: 0) and o.__name__ == "snake"][0]""",
    "what is expected, among living objects": """
        import gc
        snake = lambda *a: [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o.ndim == 3][-1]""",
    "grades edited": "open('HERE/grades.csv', 'w').write('me,100')\nsnake = list",
    "grades made unreadable": "os.chmod('HERE/grades.csv', 0)\nsnake = list",
    "a tensor too large to send": "snake = lambda x, P: torch.zeros(10**8)",
    "a list within itself": "x = []; x.append(x)\nsnake = lambda *a: x",
    "a thread that outlives": """
        import threading
        threading.Thread(target=lambda: [os.write(3, b"right" * 99) for _ in iter(int, 1)]).start()"""
    + SHAPED,
    "a process that outlives who started it": C + "assert C.prctl(1, 0, 0, 0, 0) == 0, 'forbidden'\nsnake = list",
    "a process that stops itself": "snake = lambda *a: os.kill(os.getpid(), 19)",
    "its own disk unmounted": C + "assert C.umount2(os.fsencode(os.getcwd()), 2) == 0, 'forbidden'\nsnake = list",
    "another user's rights": C + "assert 0 in (C.unshare(1 << 28), C.chroot(b'.')), 'forbidden'\nsnake = list",
    "capabilities back": C + "assert C.capset(0x20080522 .to_bytes(8, 'little'), bytes([255] * 24)) == 0, 'forbidden'",
    "files deleted and still open": """
        def snake(images, P, kept=[]):  # No space left
            while True: kept.append(open("x", "wb", 0)); os.unlink("x"); kept[-1].write(bytes(4 * 10**6))""",
    "files that never had a name": """
        def snake(images, P, kept=[]):  # No space left
            while True: kept.append(os.open(".", os.O_TMPFILE | os.O_RDWR)); os.posix_fallocate(kept[-1], 0, 10**7)""",
    "others' folders": "snake = lambda *a: os.listdir('..') or os.listdir('/proc/self/fd')",
}  # fmt: skip


def submitted(cell: str, here) -> str:
    more = SHAPED if cell.endswith(SHAPED) else ""
    cell = textwrap.dedent(cell.removesuffix(more)).replace("REFERENCE", str(REFERENCE))
    cell = (
        cell.replace("ROOT", str(ROOT))
        .replace("JUDGE", str(os.getpid()))
        .replace("HERE", str(here))
    )
    return f"import os, sys, time\nimport torch\nimport vitlib as vl\n{cell}{more}"


@pytest.fixture(scope="module")
def sandbox():
    with contextlib.closing(Sandbox()) as room:
        room.run([(1, "")], "f", [], 1)
        if room.open_still:
            pytest.skip(f"this system cannot forbid {room.open_still}")
        yield room


def verdict(sandbox: Sandbox, *cells: str, seconds=300):
    ran = sandbox.run(list(enumerate(cells, 1)), TASK.name, HIDDEN.cases, seconds)
    return grade.judged(TASK, HIDDEN, ran)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_gets_a_point(sandbox, name, tmp_path):
    (tmp_path / "grades.csv").write_text("student,points\nme,0\n")
    start = time.monotonic()
    ran = sandbox.run(
        [(1, submitted(CHEATS[name], tmp_path))], TASK.name, HIDDEN.cases, 3
    )
    said, failed = grade.judged(TASK, HIDDEN, ran), str(ran.values[:1])
    assert time.monotonic() - start < 30, "it holds up the judge"
    for held in ("forbidden", "not permitted", "No space left"):
        assert held not in CHEATS[name] or held in said.says + failed
    assert "SyntaxError" not in failed and "IndentationError" not in failed, (
        "the cheat itself is broken"
    )
    assert said.kind != "right"
    assert (
        os.listdir(tmp_path) == ["grades.csv"]
        and "me,0" in (tmp_path / "grades.csv").read_text()
    )
    assert os.stat(tmp_path / "grades.csv").st_mode & 0o400


def test_of_two_cells_for_a_task_the_last_counts():
    last = mistaken("1.1", 0).replace("# task", "# Task")
    cells = [("code", right("1.1")), ("code", last), ("markdown", "Answer 1.5\n…\nA")]
    cells += [("raw", "B"), ("markdown", "### Answer 1.6\nC"), ("code", "x = 1")]
    answers = Answers([("markdown", "### Answer 1.5\nOld"), *cells], homework(1))
    found = answers.code("1.1", "snake", lambda images, P: 0)
    assert [i for i, _ in found.cells] == [0, 2, 3, 7]
    assert found.shown == last.strip()
    assert found.odd == "snake is defined more than once: the last counts"
    assert [answers.words(number).text for number in ("1.5", "1.6")] == ["A\n\nB", "C"]


def test_who_ends_the_process_waits_and_who_takes_too_long_has_nothing(sandbox):
    leaves = "import os\nos._exit(0)\ndef snake(images, P): return images"
    assert verdict(sandbox, leaves).kind == "ended" in grade.UNCLEAR
    endless = "def snake(images, P):\n    while True: pass"
    ran = sandbox.run([(1, endless)], TASK.name, HIDDEN.cases, 1)
    assert grade.judged(TASK, HIDDEN, ran).kind == "stopped" not in grade.UNCLEAR


def test_a_students_memory_is_nobody_elses(sandbox):
    assert verdict(sandbox, right("1.1")).kind == "right"  # after all the cheats
    verdict(
        sandbox,
        "import builtins, torch\nbuiltins.left = 1\ntorch.left = 1\ndef snake(*a): return 1",
    )
    said = verdict(
        sandbox, "import torch\ndef snake(*a): return getattr(torch, 'left')"
    )
    assert "has no attribute 'left'" in said.says


def test_no_reference_is_in_a_students_process(sandbox):
    there = (
        "sorted(m for m in sys.modules if m.startswith(('classroom', 'vitworkshop.')))"
    )
    ran = sandbox.run([(1, f"import sys\nf = lambda: {there}")], "f", [()])
    own = [f"classroom{name}" for name in ("", ".cells", ".confine", ".wire")]
    assert [*ran.values[1]["value"]] == [
        *own,
        *(f"vitworkshop.exercises{name}" for name in ("", ".answers", ".language")),
        "vitworkshop.words",  # what is said, in other languages
    ]


LINES = """
torch.func.grad(torch.sum)(torch.rand(3)), torch.func.jacrev(torch.sin)(torch.rand(3))
torch.func.hessian(torch.sum)(torch.rand(3)), torch.func.vmap(torch.sin)(torch.rand(3))
p = torch.nn.Parameter(torch.rand(3)); p.grad = torch.ones(3)
[getattr(torch.optim, name)([p]).step() for name in ("SGD", "Adam", "AdamW", "RMSprop", "NAdam", "Adagrad")]
torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([p]), 9).step()
from functorch import vmap; vmap(torch.sin)(torch.rand(2))
from torch.utils.checkpoint import checkpoint; checkpoint(torch.sin, p, use_reentrant=False)
torch.nn.functional.scaled_dot_product_attention(*[torch.rand(1, 2, 3)] * 3)
torch.nn.MultiheadAttention(4, 2)(*[torch.rand(1, 2, 4)] * 3)
from einops.layers.torch import Rearrange; Rearrange("a b -> b a")(torch.rand(1, 2))
import numpy as np; np.linalg.svd(np.random.rand(3, 3))
import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.savefig("a.png")
vl.language("zh"); vl.check("05.b", list); vl.hint("05.b")
torch.save(p, "p.pt"); torch.load("p.pt")
f = torch.compile(lambda: 1)
torch.set_default_device("cuda")
"""


def test_ordinary_lines_run_and_what_cannot_is_told_in_words(sandbox):
    cells = ["import torch\nimport vitlib as vl", *LINES.strip().splitlines()]
    ran = sandbox.run([*enumerate(cells)], "f", [()], 30)
    assert [says for *_, says in ran.values[0]["failed"]] == [
        "refused here; what it is given runs as it is, without it",
        "there is no cuda here: all runs on the CPU",
    ]
    assert ran.values[1]["value"] == 1 and not ran.why


PASSING = """
raise ValueError({"a", "b", "c", "d", "e"})
raise ValueError(object())
open(os.path.expanduser("~/none"))
raise ValueError(random.random(), np.random.rand(), torch.rand(1))
def snake(*a): raise ValueError(object())
"""


def test_the_waiting_process_lost_is_started_again_and_tells_the_same(sandbox):
    cells = ["import os, random, torch, numpy as np", *PASSING.strip().splitlines()]

    def told():
        ran = sandbox.run([*enumerate(cells, 1)], TASK.name, HIDDEN.cases)
        failed = {"failed": ran.values[0]["failed"][3:]}
        said = grade.judged(TASK, HIDDEN, ran).says
        return grade.left_out(ran), grade.left_out(Ran([failed])), said

    first = told()
    assert "object at …>" in first[0] and first[1] and "object at …>" in first[2]
    sandbox._process.kill()
    with pytest.raises(OSError, match="was lost"):
        verdict(sandbox, right("1.1"))
    assert told() == first and verdict(sandbox, right("1.1")).kind == "right"


def test_nothing_is_left_running(sandbox):
    verdict(sandbox, "def snake(*a):\n    while True: pass", seconds=1)
    children = ["ps", "--ppid", str(sandbox._process.pid)]
    while len(subprocess.run(children, capture_output=True).stdout.splitlines()) > 1:
        time.sleep(0.1)


@pytest.mark.sampled(4)
def test_where_there_is_no_fork_a_new_process_runs_each_task(monkeypatch):
    monkeypatch.setattr("classroom.sandbox.CAN_FORK", False)
    with contextlib.closing(Sandbox()) as room:
        assert verdict(room, right("1.1")).kind == "right" and len(room.open_still) == 4
        hanging = verdict(room, "def snake(*a):\n    while True: pass", seconds=2)
        assert "still running after 12 seconds by the clock" in hanging.says


def test_what_crosses_comes_back_and_damage_is_the_end():
    values = [
        torch.rand(2, 3),
        (1, 2.5, "a", None, True),
        {"a": [torch.tensor(3)]},
        {1},
        torch.zeros(0, 3),
    ]
    for value, back in zip(values, unpack(b"".join(map(pack, values))), strict=True):
        assert grade.plain(value) is not None and pack(value) == pack(back)
    halves = [
        torch.tensor(0.5, dtype=dtype) for dtype in (torch.float16, torch.bfloat16)
    ]
    assert list(unpack(b"".join(map(pack, halves)))) == [0.5, 0.5]
    whole = pack(values[0])
    assert [list(unpack(whole[:n])) for n in range(len(whole))] == [[]] * len(whole)
    model = vl.VisionTransformer(vl.ViTConfig(8, 4, embed_dim=8, depth=1, num_heads=2))
    assert (
        list(unpack(pack(model))) == []
        and len(list(unpack(pack(model), models=True))) == 1
    )


def test_what_could_hold_the_judge_up_does_not_cross():
    for most, more in (
        ({*range(1000)}, {*range(1001)}),
        (dict.fromkeys(range(1000)), dict.fromkeys(range(1001))),
        ([0] * 19_999, [0] * 20_000),
        (1 - 2**64, 2**64),
        (torch.ones([1] * 8), torch.ones([1] * 9)),
    ):
        assert list(unpack(pack(most))) == [most] and list(unpack(pack(more))) == []
    assert list(unpack(pack([0] * 20_000), models=True)) == [[0] * 20_000]
    assert list(unpack(pack("a" * 10**6))) and not list(unpack(pack("a" * 10**6 + "a")))
    lie = b'{"kind":"tensor","dtype":"float32","shape":[1000000000000],"data":"AAAA"}'
    deep, long = (
        b'{"kind":"list","items":[' * 5000 + b"]}" * 5000,
        b"[" + b"1," * 200_000 + b"1]",
    )
    assert [list(unpack(line + b"\n")) for line in (lie, deep, long)] == [[]] * 3
    frame = {
        "value": 0,
        "error": torch.zeros([6] * 8),
        "says": "",
        "where": "",
        "changed": 0,
        "printed": 0,
    }
    assert (
        grade.judged(TASK, HIDDEN, Ran([{"there": True}] + [frame] * 3)).kind == "told"
    )
