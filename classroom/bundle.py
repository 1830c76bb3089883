"""Writes class/bundle-PLATFORM.zip, from which a class starts without a network, and class/pages.zip for readers.

    make bundle         (it builds the book first; on Linux without a GPU: make bundle TORCH=cpu)

With `LANGUAGES=en,zh` its pages have both languages and its chapters are Chinese.

In it: the built book, the students' chapters, and wheels of all that they import, for this computer's system and
Python. Options go to `pip download`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from classroom import editions
from classroom.start import COMPUTER, WANTED
from page.browser import HTML
from page.edition import languages
from tools import colab
from vitworkshop.exercises.language import language

ROOT = editions.ROOT
NAME = "bundle-{platform}-python{python}".format(**COMPUTER)
README = {
    "en": """Patch by Patch, for a class without a network.

Read:   open book/index.html in a browser. Nothing has to be installed.
Run:    python3 start.py                 (Windows: py start.py)
        It needs Python {python} on {platform}. The first time it installs from wheels/ into env/ ({size:.0f} MB to
        read, about four times that on disk). Closed or broken off, the same command goes on.
Try:    python3 start.py --run 01        runs chapter 01 and says whether it came through

The chapters draw their own pictures (Drawn-10) and bring their trained models. For CIFAR-10, put the folder
cifar-10-batches-bin somewhere and name the folder around it: VITLIB_DATA=/path/to/it python3 start.py

To start again from nothing, delete env/.
""",
    "zh": """Patch by Patch，供没有网络的课堂使用。

阅读：  用浏览器打开 book/zh/index.html。什么都不用装。
运行：  python3 start.py                 （Windows：py start.py）
        需要 {platform} 上的 Python {python}。第一次会把 wheels/ 里的软件包装进 env/（要读 {size:.0f} MB，
        在磁盘上约占四倍）。关掉了或者中断了，再运行同一条命令就会接着做。
试一试：python3 start.py --run 01        运行第 01 章，并说它有没有跑完

各章自己画图像（Drawn-10），训练好的模型也随书附带。要用 CIFAR-10，就把文件夹 cifar-10-batches-bin
放在某处，并写出它所在的文件夹：VITLIB_DATA=/path/to/it python3 start.py

要从头再来，删除 env/。
""",
}


def write(folder: Path, arguments: list[str]) -> None:
    """The folder that a class copies; wheels have the versions of the lock."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels, source = folder / "wheels", folder / colab.ZIP.name
    # built from a copy: in the repository an old build/ would come along
    colab.write(source)
    subprocess.run(
        [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source],
        check=True,
    )
    source.unlink()
    lock = ["--constraint", ROOT / "requirements.txt", "--only-binary", ":all:"]
    wanted = [*wheels.glob("*.whl"), *(name for name in WANTED if name != "vitlib")]
    subprocess.run(
        [*pip, "download", "--quiet", "--dest", wheels, *lock, *arguments, *wanted],
        check=True,
    )
    shutil.copytree(HTML, folder / "book")
    (folder / "notebooks").mkdir()
    editions.write(folder / "notebooks", "student")
    shutil.copyfile(Path(__file__).with_name("start.py"), folder / "start.py")
    (folder / "made-for.json").write_text(json.dumps(COMPUTER) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in wheels.iterdir()) / 1e6
    (folder / "README.txt").write_text(
        README[language()].format(**COMPUTER, size=size), encoding="utf-8"
    )


def main(arguments: list[str]) -> None:
    """Writes both zips and says how large they are."""
    language(languages()[-1])
    editions.publish(NAME, lambda folder: write(folder, arguments))
    editions.publish("pages", lambda folder: shutil.copytree(HTML, folder / "book"))


if __name__ == "__main__":
    main(sys.argv[1:])
