"""Cheats, each by its name: none gets a point, and a right answer after it still gets all."""

import json
import os
import subprocess
import sys
import textwrap
import time

import pytest
import torch
from classes import code, mistaken, right

import vitlib as vl
from classroom import grade
from classroom.homework import homework
from classroom.sandbox import ROOT, Sandbox
from classroom.submissions import Submission, find
from classroom.wire import pack, unpack

TASK = homework(1).tasks["1.1"]
HIDDEN = TASK.hidden(2**45 + 1)
REFERENCE = ROOT / "classroom/homework/h1.py"
SHAPED = "\ndef snake(images, P):\n    return vl.patchify(images, P)\n"  # right shape, wrong order
C = "import ctypes\nC = ctypes.CDLL(None)\n"
SEND = """
def send(value, says='""', blob=b""):
    head = '{"kind":"dict","items":[["failed",{"kind":"list","items":[]}],["there",true]]}'
    frame = '["value",%s],["error",%s],["says",""],["where",""],["changed",0],["printed",false]'
    frame = '{"kind":"dict","items":[' + frame + ']}'
    for text, data in ((head, b""), *[(frame % (value, says), blob)] * 3):
        os.write(3, len(text).to_bytes(8, "little") + len(data).to_bytes(8, "little") + text.encode() + data)
    os._exit(0)
"""
CHEATS = {
    "allclose says yes": "torch.allclose = torch.equal = lambda *a, **k: True" + SHAPED,
    "tensors equal all": "torch.Tensor.__eq__ = lambda *a: True; torch.Tensor.equal = lambda *a: True" + SHAPED,
    "numpy.testing says yes": "import numpy.testing as t\nfor n in dir(t): setattr(t, n, lambda *a: True)" + SHAPED,
    "a false engine in sys.modules": """
        import types
        engine = types.ModuleType("vitworkshop.exercises.engine")
        engine.judge = engine.judge_outcomes = lambda *a: "right"
        sys.modules["vitworkshop.exercises.engine"] = sys.modules["classroom.grade"] = engine"""
    + SHAPED,
    "a tensor that agrees with everything": """
        class Yes(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return True
        def snake(images, P):
            return torch.zeros(len(images), 6, 12).as_subclass(Yes)""",
    "an object with __eq__ and __array__": """
        class Yes:
            def __eq__(self, other): return True
            def __array__(self, *a): return Yes()
            shape = property(lambda self: Yes())
        def snake(images, P): return Yes()""",
    "results written by oneself": """
        def snake(images, P):
            from classroom.wire import pack
            for _ in range(9):
                os.write(3, pack({"kind": "right", "points": 99, "value": True, "there": True, "failed": []}))
            os._exit(0)""",
    "the harness's own function replaced": """
        import classroom.wire
        f = sys._getframe(1)
        classroom.wire.pack = f.f_globals["pack"] = lambda x: b"right"
        frame = dict.fromkeys(("error", "says", "where"), "") | {"value": "right", "changed": 0, "printed": 0}
        f.f_globals["_called"] = lambda *a: frame"""
    + SHAPED,
    "leaving early with code 0": "def snake(images, P): os._exit(0)",
    "a pickle as a result": """
        def snake(images, P):
            import pickle
            class Run:
                def __reduce__(self): return os.system, ("touch HERE/pwned",)
            os.write(3, pickle.dumps(Run())); os._exit(0)""",
    "the reference read from the disk": "exec(open('REFERENCE').read())",
    "the reference imported": "sys.path.insert(0, 'ROOT')\nfrom classroom.homework.h1 import snake",
    "the reference run by path": "import runpy\nsnake = runpy.run_path('REFERENCE')['snake']",
    "a symbolic link to the reference": "os.symlink('REFERENCE', 'mine.py'); exec(open('mine.py').read())",
    "a hard link to the reference": "os.link('REFERENCE', 'mine.py'); exec(open('mine.py').read())",
    "a library that opens files": "import ctypes\nprint(ctypes.CDLL(None).open(b'REFERENCE', 0)); 1 / 0",
    "another program that reads": "import subprocess\nexec(subprocess.check_output(['cat', 'REFERENCE']))",
    "the parent's memory": "open(f'/proc/{os.getppid()}/mem', 'rb').read(1); snake = list",
    "the judge's memory by process_vm_readv": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        buffer, local, remote = ctypes.create_string_buffer(8), (ctypes.c_void_p * 2)(), (ctypes.c_void_p * 2)(4096, 8)
        local[0], local[1] = ctypes.addressof(buffer), 8
        assert libc.process_vm_readv(JUDGE, local, 1, remote, 1, 0) >= 0 or ctypes.get_errno() != 1, "forbidden"
        snake = list""",
    "ptrace of the judge": """
        import ctypes
        assert ctypes.CDLL(None).ptrace(16, JUDGE, 0, 0) == 0, "forbidden"
        snake = list""",
    "the judge killed": "os.kill(JUDGE, 9)\nsnake = list",
    "the waiting process killed": "os.kill(os.getppid(), 9)\nsnake = list",
    "a signal through a pipe": """
        import fcntl
        out, into = os.pipe()
        fcntl.fcntl(out, fcntl.F_SETOWN, JUDGE)
        snake = list""",
    "a datagram to the system's log": """
        import socket
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"me", "/dev/log")
        snake = list""",
    "the judge's limits lowered": "import resource\nresource.prlimit(JUDGE, resource.RLIMIT_CPU, (0, 0))\nsnake = list",
    "seed and path in the environment": "snake = lambda *a: [k for k in os.environ if 'SEED' in k][0]",
    "references among living objects": """
        import gc
        found = [o for o in gc.get_objects() if type(o) is type(gc.isenabled) or type(o) is type(lambda: 0)]
        found = [o for o in found if o.__name__ in ("snake", "overlapping", "embed")]
        found += [m for m in sys.modules if m.startswith(("classroom.homework", "classroom.grade", "vitworkshop"))]
        snake = found[0]""",
    "what is expected, on the stack": """
        def snake(images, P):
            frame, best = sys._getframe(1), None
            while frame:
                for value in frame.f_locals.values():
                    best = value if isinstance(value, torch.Tensor) and value.ndim == 3 else best
                frame = frame.f_back
            return best if best is not None else {"none": 0}""",
    "grades edited": "open('HERE/grades.csv', 'w').write('me,100')\nsnake = list",
    "grades deleted": "os.remove('HERE/grades.csv')\nsnake = list",
    "grades made unreadable": "os.chmod('HERE/grades.csv', 0)\nsnake = list",
    "nan": "snake = lambda x, P: vl.patchify(x, P) * float('nan')",
    "inf": "snake = lambda x, P: vl.patchify(x, P) + float('inf')",
    "huge numbers": "snake = lambda x, P: vl.patchify(x, P) * 1e38",
    "half precision": "snake = lambda x, P: vl.patchify(x, P).half() * 1.01",
    "whole numbers": "snake = lambda x, P: vl.patchify(x, P).long()",
    "complex numbers": "snake = lambda x, P: vl.patchify(x, P) + 1j",
    "a tensor too large to send": "snake = lambda x, P: torch.zeros(10**8)",
    "a shape of lies": """
        def snake(images, P):
            text = b'{"kind": "tensor", "dtype": "float32", "shape": [1000000000000]}'
            for _ in range(5): os.write(3, len(text).to_bytes(8, "little") + bytes(8) + text)
            os._exit(0)""",
    "a length of lies": "os.write(3, b'\\xff' * 16 + bytes(10**6)); os._exit(0)",
    "a list within itself": "x = []; x.append(x)\nsnake = lambda *a: x",
    "the word right": "snake = lambda *a: 'right'",
    "None": "snake = lambda *a: None",
    "the seed guessed": """
        def snake(images, P):
            for seed in range(300):
                torch.manual_seed(seed)
                if torch.equal(torch.rand(images.shape), images): return images
            return torch.zeros(1)""",
    "results at exit": """
        import atexit
        atexit.register(lambda: os.write(3, b"right"))
        def snake(images, P): sys.exit(0)""",
    "a thread that outlives": """
        import threading
        def loop():
            while True: os.write(3, b"right" * 99)
        threading.Thread(target=loop).start()"""
    + SHAPED,
    "a process that outlives": "os.fork() or time.sleep(60)\nsnake = list",
    "a process that outlives who started it": C + "assert C.prctl(1, 0, 0, 0, 0) == 0, 'forbidden'\nsnake = list",
    "a process that stops itself": "snake = lambda *a: os.kill(os.getpid(), 19)",
    "its own disk unmounted": C + "assert C.umount2(os.fsencode(os.getcwd()), 2) == 0, 'forbidden'\nsnake = list",
    "another user's rights": C + "assert 0 in (C.unshare(1 << 28), C.chroot(b'.')), 'forbidden'\nsnake = list",
    "capabilities taken back": C + """
assert C.capset((0x20080522).to_bytes(8, "little"), bytes([255] * 24)) == 0, "forbidden"
snake = list""",
    "files deleted and still open": """
        def snake(images, P, kept=[]):  # No space left
            while True: kept.append(open("x", "wb", 0)); os.unlink("x"); kept[-1].write(bytes(4 * 10**6))""",
    "files that never had a name": """
        def snake(images, P, kept=[]):  # No space left
            while True: kept.append(os.open(".", os.O_TMPFILE | os.O_RDWR)); os.posix_fallocate(kept[-1], 0, 10**7)""",
    "others' folders": "snake = lambda *a: os.listdir('..') or os.listdir('/proc/self/fd')",
    "numbers that collide": SEND + """
send('{"kind":"set","items":[' + ",".join(str(n * (2**61 - 1)) for n in range(40000)) + "]}")""",
    "lists within lists": SEND + """send('{"kind":"list","items":[' * 5000 + "]}" * 5000)""",
    "many things for one": SEND + """send('{"kind":"list","items":[0' + ",1" * 400000 + ',"a"]}')""",
    "a tensor for an error's words": SEND + """
send(0, '{"kind":"tensor","dtype":"uint8","shape":[6,6,6,6,6,6,6,6]}', bytes(6**8))""",
}  # fmt: skip


def submitted(cell: str, here="/nowhere") -> str:
    more = SHAPED if cell.endswith(SHAPED) else ""
    cell = (
        textwrap.dedent(cell.removesuffix(more))
        .replace("REFERENCE", str(REFERENCE))
        .replace("ROOT", str(ROOT))
    )
    cell = cell.replace("JUDGE", str(os.getpid())).replace("HERE", str(here))
    return f"import os, sys, time\nimport torch\nimport vitlib as vl\n{cell}{more}"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as room:
        room.run([(1, "")], "f", [], 1)
        if room.open_still:
            pytest.skip(f"this system cannot forbid {room.open_still}")
        yield room


def verdict(sandbox: Sandbox, *cells: str, seconds=300):
    ran = sandbox.run(list(enumerate(cells, 1)), TASK.name, HIDDEN.cases, seconds)
    return grade.judged(TASK, HIDDEN, ran)


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_gets_a_point(sandbox, name, tmp_path):
    (tmp_path / "grades.csv").write_text("student,points\nme,0\n")
    start = time.monotonic()
    ran = sandbox.run([(1, submitted(CHEATS[name], tmp_path))], TASK.name, HIDDEN.cases, 3)
    said, failed = grade.judged(TASK, HIDDEN, ran), str(ran.values[:1])
    assert time.monotonic() - start < 15, "it holds up the judge"
    for held in ("forbidden", "No space left"):
        assert held not in CHEATS[name] or held in said.says + failed
    assert "SyntaxError" not in said.says and "IndentationError" not in said.says, (
        "the cheat itself is broken"
    )
    assert said.kind != "right"
    assert os.listdir(tmp_path) == ["grades.csv"] and "me,0" in (tmp_path / "grades.csv").read_text()
    assert os.stat(tmp_path / "grades.csv").st_mode & 0o400


def test_a_right_answer_is_right_after_all_of_them(sandbox):
    assert verdict(sandbox, right("1.1")).kind == "right"


def test_the_cheats_would_work_without_the_walls():
    """The reference, read from the disk by the same words, is a right answer here: it is the wall that stops it."""
    space: dict = {}
    exec(submitted(CHEATS["the reference read from the disk"]), space)
    got = [grade.Outcome(grade.plain(space["snake"](*case))) for case in HIDDEN.cases]
    assert grade.judge_outcomes(HIDDEN, got).kind == "right"


def test_of_two_cells_for_a_task_the_last_counts():
    cells = code(right("1.1"), mistaken("1.1", 0))["cells"]
    student = Submission("x", ROOT, cells=[(cell["cell_type"], cell["source"]) for cell in cells])
    assert len(student.code("1.1", "snake")) == 2


def test_a_students_memory_is_nobody_elses(sandbox):
    verdict(sandbox, "import builtins, torch\nbuiltins.left = 1\ntorch.left = 1\ndef snake(*a): return 1")
    said = verdict(sandbox, "import torch\ndef snake(*a): return getattr(torch, 'left')")
    assert "has no attribute 'left'" in said.says


def test_no_reference_is_in_a_students_process(sandbox):
    there = "sorted(m for m in sys.modules if m.startswith(('classroom', 'vitworkshop')))"
    ran = sandbox.run([(1, f"import sys\nf = lambda: {there}")], "f", [()])
    assert ran.values[1]["value"] == ["classroom", "classroom.cells", "classroom.confine", "classroom.wire"]


def test_the_waiting_process_lost_is_started_again(sandbox):
    sandbox._process.kill()
    with pytest.raises(OSError, match="was lost"):
        verdict(sandbox, right("1.1"))
    assert verdict(sandbox, right("1.1")).kind == "right"


def test_nothing_is_left_running(sandbox):
    verdict(sandbox, "def snake(*a):\n    while True: pass", seconds=1)
    children = ["ps", "--ppid", str(sandbox._process.pid)]
    while len(subprocess.run(children, capture_output=True).stdout.splitlines()) > 1:
        time.sleep(0.1)


def test_where_there_is_no_fork_a_new_process_runs_each_task(monkeypatch):
    monkeypatch.setattr("classroom.sandbox.CAN_FORK", False)
    with Sandbox() as room:
        assert verdict(room, right("1.1")).kind == "right" and len(room.open_still) == 4
        hanging = verdict(room, "def snake(*a):\n    while True: pass", seconds=2)
        assert "still running after 2 seconds" in hanging.says


def test_where_it_can_have_no_disk_of_its_own_it_writes_nothing(tmp_path):
    tries = """import os, sys; from pathlib import Path; from classroom import confine
confine._own_disk = lambda *a: False
confine.confine(Path(sys.argv[1]), [], 9, 10**9, 10**6, 9), os.chdir(sys.argv[1])
for how in (os.O_CREAT, os.O_TMPFILE):
    try: os.open(os.path.join(".", "x" * (how == os.O_CREAT)), how | os.O_RDWR)
    except PermissionError: print("refused")"""
    ran = subprocess.run([sys.executable, "-c", tries, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert (ran.stdout, os.listdir(tmp_path)) == ("refused\n" * 2, []), ran.stderr


def test_what_crosses_comes_back_and_damage_is_the_end():
    values = [
        torch.rand(2, 3),
        (1, 2.5, "a", None, True),
        {"a": [torch.tensor(3)]},
        {1, 2},
        torch.zeros(0, 3),
    ]
    for value, back in zip(values, unpack(b"".join(map(pack, values))), strict=True):
        assert grade.plain(value) is not None and pack(value) == pack(back)
    whole = pack(values[0])
    assert [list(unpack(whole[:n])) for n in range(len(whole))] == [[]] * len(whole)
    model = vl.VisionTransformer(vl.ViTConfig(8, 4, embed_dim=8, depth=1, num_heads=2))
    assert list(unpack(pack(model))) == [] and len(list(unpack(pack(model), models=True))) == 1


def test_what_could_hold_the_judge_up_does_not_cross():
    for most, more in (
        ({*range(1000)}, {*range(1001)}),
        (dict.fromkeys(range(1000)), dict.fromkeys(range(1001))),
        ([0] * 19_999, [0] * 20_000),
        (1 - 2**64, 2**64),
    ):
        assert list(unpack(pack(most))) == [most] and list(unpack(pack(more))) == []
    assert list(unpack(pack([0] * 20_000), models=True)) == [[0] * 20_000]


def test_links_out_of_the_folder_are_not_read(tmp_path):
    secret, folder = tmp_path / "secret.ipynb", tmp_path / "all"
    secret.write_text(json.dumps(code(right("1.1"))))
    (folder / "inner").mkdir(parents=True)
    (folder / "direct.ipynb").symlink_to(secret)
    (folder / "whole").symlink_to(tmp_path)
    (folder / "inner" / "mine.ipynb").symlink_to(secret)
    found, _ = find(folder)
    [each.read(1) for each in found]
    assert [(each.cells, "symbolic link" in each.problem) for each in found] == [([], True)] * 3
