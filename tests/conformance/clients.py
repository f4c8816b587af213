# SPDX-License-Identifier: MIT
"""The clients that the suite asks, and how the program of each is built. docs/LANGUAGES.md says how
to add one.

A language whose tools are not there, or whose packages cannot be had, is skipped with the reason;
a program that its tools refuse to build is a failure.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STOKER_BUILD", ROOT / "build")).resolve()
HERE = Path(__file__).resolve().parent
MADE = BUILD / "conformance"  # what languages other than C and C++ build
FETCH_S = 100  # for packages of a registry
BUILD_S = 200


class Missing(Exception):
    """Why a client cannot be asked on this machine."""


class Broken(Exception):
    """What its tools say of it."""


def tool(*names):
    """The first program that is there."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Missing(f"there is no {' or '.join(names)} on this machine")


def fetch(*command, folder, **environment):
    """Get packages; a registry that does not answer is no fault of the client."""
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_S,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"its packages did not come within {FETCH_S} s") from None
    if done.returncode != 0:
        raise Missing("its packages could not be had: " + " ".join(done.stderr.split())[-300:])


def make(*command, folder, **environment):
    """Build; raises Broken with what the tool said."""
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=BUILD_S,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"it was not built within {BUILD_S} s") from None
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


def of_meson(name):
    program = BUILD / "tests" / "conformance" / name
    if not program.exists():
        raise Missing(f"meson has not built {program}")
    return [str(program)]


def python():
    return [sys.executable, str(HERE / "conformance.py")]


def go():
    folder = ROOT / "client" / "go"
    program = MADE / "go"
    fetch(tool("go"), "mod", "download", folder=folder)
    make(tool("go"), "build", "-o", str(program), "./internal/conformance", folder=folder)
    return [str(program)]


def go_race():
    """With the race detector, whose run-time library is C."""
    folder, program = ROOT / "client" / "go", MADE / "go-race"
    tool("gcc", "clang")
    fetch(tool("go"), "mod", "download", folder=folder)
    make(tool("go"), "build", "-race", "-o", str(program), "./internal/conformance", folder=folder,
         CGO_ENABLED="1")
    return [tool("env"), "GORACE=halt_on_error=1", str(program)]


def node_folder():
    """The client with its packages, beside what is built: the source stays as it is."""
    folder = MADE / "node"
    shutil.copytree(ROOT / "client" / "node", folder, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("node_modules"))
    if not (folder / "node_modules" / "koffi").exists():
        fetch(tool("npm"), "install", "--omit=dev", "--ignore-scripts", "--no-audit",
              "--no-fund", "--no-package-lock", folder=folder)
    return folder


def node():
    return [tool("node"), str(node_folder() / "test" / "conformance.js")]


def node_without_koffi():
    """Nothing but Node: arrays are copies."""
    return [tool("env"), "STOKER_NO_KOFFI=1", tool("node"),
            str(ROOT / "client" / "node" / "test" / "conformance.js")]


def rust(profile="dev"):
    folder, target = ROOT / "client" / "rust", str(MADE / "rust")
    cargo = tool("cargo")
    fetch(cargo, "fetch", folder=folder, CARGO_TARGET_DIR=target)
    make(cargo, "build", "--offline", "--profile", profile, "--example", "conformance",
         folder=folder, CARGO_TARGET_DIR=target)
    made = "debug" if profile == "dev" else profile
    return [str(MADE / "rust" / made / "examples" / "conformance")]


RUST_TARGET = "x86_64-unknown-linux-gnu"  # of its own, else what runs at compile time is sanitized


def rust_asan():
    """With AddressSanitizer, which needs a nightly compiler."""
    folder, target = ROOT / "client" / "rust", MADE / "rust-asan"
    cargo = tool("cargo")
    try:
        make(cargo, "+nightly", "--version", folder=folder)
    except Broken:
        raise Missing("there is no nightly compiler of Rust") from None
    fetch(cargo, "fetch", folder=folder, CARGO_TARGET_DIR=str(target))
    make(cargo, "+nightly", "build", "--offline", "--target", RUST_TARGET, "--example",
         "conformance", folder=folder, CARGO_TARGET_DIR=str(target),
         RUSTFLAGS="-Zsanitizer=address")
    return [str(target / RUST_TARGET / "debug" / "examples" / "conformance")]


JAVA_LEAST = 22  # mapped files as memory segments


@functools.lru_cache(maxsize=None)
def jdk():
    """The bin folder of the newest JDK."""
    homes = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    homes += map(str, Path("/usr/lib/jvm").glob("*"))
    if shutil.which("javac"):
        homes.append(str(Path(shutil.which("javac")).resolve().parents[1]))
    found = {}
    for home in homes:
        javac = Path(home) / "bin" / "javac"
        if javac.exists():
            done = subprocess.run([str(javac), "-version"], capture_output=True, text=True,
                                  check=False)
            number = re.search(r"javac (\d+)", done.stdout + done.stderr)
            found[int(number.group(1)) if number else 0] = javac.parent
    newest = max(found, default=0)
    if newest < JAVA_LEAST:
        raise Missing(f"there is no JDK of {JAVA_LEAST} or later on this machine")
    return found[newest]


JAVA = ROOT / "client" / "java"
JAVA_OUT = MADE / "java" / "client"  # what its jar has
JAVA_ASKED = MADE / "java" / "conformance"


def javac(out, *sources):
    """Compile what uses the client, or the client."""
    make(str(jdk() / "javac"), "-Xlint:all", "-Werror", "--release", str(JAVA_LEAST), "-cp",
         str(JAVA_OUT), "-d", str(out), *map(str, sources), folder=ROOT)


@functools.lru_cache(maxsize=None)
def java_classes():
    """A command that runs one of the classes of the client, or with it; no test is among them."""
    JAVA_OUT.mkdir(parents=True, exist_ok=True)
    javac(JAVA_OUT, *sorted((JAVA / "src" / "main").rglob("*.java")))
    return [str(jdk() / "java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
            f"{JAVA_OUT}:{JAVA_ASKED}"]


def java():
    command = java_classes()
    tests = JAVA / "src" / "test" / "java" / "dev" / "stoker"
    javac(JAVA_ASKED, tests / "Conformance.java", tests / "Golden.java")
    return [*command, "dev.stoker.Conformance"]


# name -> (how to get its command, what it does not have)
CLIENTS = {
    "c": (functools.partial(of_meson, "conformance"), {"path", "staying"}),
    "cpp": (functools.partial(of_meson, "conformance_cpp"), {"path", "staying"}),
    "python": (python, {"credentials", "credit", "replay", "secret", "staying"}),
    "go": (go, {"replay", "stats"}),
    "go-race": (go_race, {"replay", "stats"}),
    "java": (java, {"fd", "map", "produce", "replay", "stats"}),
    "rust": (rust, {"path", "replay", "stats"}),
    "rust-asan": (rust_asan, {"path", "replay", "stats"}),
    "node": (node, {"fd", "map", "produce", "replay", "stats"}),
    "node-copies": (node_without_koffi,
                    {"descriptors", "fd", "map", "produce", "replay", "stats"}),
}


# As a user builds and starts them, for tests/bench/languages.py: where that is another way.


def java_measured():
    java()
    return [str(jdk() / "java"), "-cp", f"{JAVA_OUT}:{JAVA_ASKED}", "dev.stoker.Conformance"]


def node_measured(*environment):
    return [tool("env"), *environment, tool("node"), "--expose-gc",
            str(node_folder() / "test" / "conformance.js")]


MEASURED = {
    "java": java_measured,
    "node": node_measured,
    "node-copies": functools.partial(node_measured, "STOKER_NO_KOFFI=1"),
    "rust": functools.partial(rust, "release"),
}

# Programs of a README: each gets the text and an empty folder, and gives a command.


def go_program(text, folder):
    command("go")
    (folder / "main.go").write_text(text)
    (folder / "go.mod").write_text(
        "module example\n\ngo 1.23\n\nrequire stoker.dev/stoker v0.1.0\n\n"
        f'replace stoker.dev/stoker => "{ROOT / "client" / "go"}"\n')
    fetch(tool("go"), "mod", "tidy", folder=folder)
    make(tool("go"), "build", "-o", "example", folder=folder)
    return [str(folder / "example")]


def cpp_program(text, folder):
    (folder / "main.cpp").write_text(text)
    library = BUILD / "client" / "c"
    make(tool("c++", "g++", "clang++"), "-std=c++17", "main.cpp", "-o", "example",
         f"-I{ROOT / 'client' / 'c'}", f"-I{ROOT / 'client' / 'cpp'}", f"-L{library}", "-lstoker",
         f"-Wl,-rpath,{library}", folder=folder)
    return [str(folder / "example")]


def java_program(text, folder):
    java_classes()
    (folder / "Main.java").write_text(text)
    make(str(jdk() / "javac"), "-cp", str(JAVA_OUT), "-d", str(folder), "Main.java", folder=folder)
    return [str(jdk() / "java"), "-cp", f"{JAVA_OUT}:{folder}", "Main"]


def node_program(text, folder):
    packages = folder / "node_modules"
    packages.mkdir()
    (packages / "stoker-client").symlink_to(node_folder())
    (folder / "main.mjs").write_text(text)
    return [tool("node"), str(folder / "main.mjs")]


def rust_program(text, folder):
    (folder / "src").mkdir()
    (folder / "src" / "main.rs").write_text(text)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "example"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
        f'stoker = {{ path = "{ROOT / "client" / "rust"}" }}\n')
    cargo, target = tool("cargo"), str(MADE / "rust")
    fetch(cargo, "fetch", folder=folder, CARGO_TARGET_DIR=target)
    make(cargo, "build", "--offline", folder=folder, CARGO_TARGET_DIR=target)
    return [str(MADE / "rust" / "debug" / "example")]


PRODUCERS = ("go", "rust")  # whose READMEs have a second program, which makes samples


# What the tools of a language say of its client: tests, formatting, lint.


def check_go(*command):
    fetch(tool("go"), "mod", "download", folder=ROOT / "client" / "go")
    make(*command, folder=ROOT / "client" / "go")


def check_java():
    """`mvn test` in a copy: the source stays as it is. With the daemon of the build folder."""
    folder = MADE / "maven" / "client" / "java"
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(JAVA, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    for name in ("LICENSE", "tests"):
        if not (MADE / "maven" / name).is_symlink():
            (MADE / "maven" / name).symlink_to(ROOT / name)
    try:
        make(tool("mvn"), "--batch-mode", "--no-transfer-progress", "test", folder=folder,
             JAVA_HOME=str(jdk().parent), STOKER_BUILD=str(BUILD))
    except Broken as error:
        if re.search("Could not transfer artifact|Cannot access", str(error)):
            raise Missing(f"packages of Maven could not be had: {str(error)[-300:]}") from None
        raise


def check_javadoc():
    """A comment on all that is public, with each parameter and value."""
    sources = sorted((JAVA / "src" / "main").rglob("*.java"))
    make(str(jdk() / "javadoc"), "-quiet", "-Xdoclint:all", "-Werror", "--release",
         str(JAVA_LEAST), "-d", str(MADE / "javadoc"), *map(str, sources), folder=ROOT)


def check_rust(*command):
    """The packages are those of rust()."""
    folder, target = ROOT / "client" / "rust", str(MADE / "rust")
    fetch(tool("cargo"), "fetch", folder=folder, CARGO_TARGET_DIR=target)
    make(tool("cargo"), *command, folder=folder, CARGO_TARGET_DIR=target)


def check_node_alone(*command):
    make(tool("node"), *command, folder=ROOT / "client" / "node")


def check_node_waiting():
    make(tool("node"), "--test", "test/posix.test.js", folder=node_folder())


def check_node_reader():
    """Against the daemon of the build folder."""
    make(tool("node"), "--test", "test/reader.test.js", folder=node_folder(),
         STOKER_BUILD=str(BUILD))


def check_node_pack():
    """The package has the client and nothing else, and can be installed and imported."""
    folder, user = MADE / "packed" / "client" / "node", MADE / "packed" / "user"
    shutil.copytree(ROOT / "client" / "node", folder, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("node_modules", "*.tgz", "LICENSE"))
    shutil.copy(ROOT / "LICENSE", MADE / "packed")
    make(tool("npm"), "pack", "--silent", folder=folder)
    package, = folder.glob("*.tgz")
    with tarfile.open(package) as packed:
        names = {name.removeprefix("package/") for name in packed.getnames()}
    wanted = {f"lib/{path.name}" for path in (ROOT / "client" / "node" / "lib").iterdir()}
    if names != wanted | {"LICENSE", "README.md", "package.json"}:
        raise Broken(f"npm pack has {sorted(names)}")
    user.mkdir(exist_ok=True)
    (user / "package.json").write_text("{}")
    make(tool("npm"), "install", "--offline", "--omit=optional", "--no-audit", "--no-fund",
         str(package), folder=user)
    make(tool("node"), "--input-type=module", "--eval", 'import "stoker-client"', folder=user)


def check_node(*command):
    """With the packages for its development."""
    folder = MADE / "node-tools"
    shutil.copytree(ROOT / "client" / "node", folder, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("node_modules"))
    if not (folder / "node_modules" / ".package-lock.json").exists():  # written at npm's end
        fetch(tool("npm"), "install", "--ignore-scripts", "--no-audit", "--no-fund",
              "--no-package-lock", folder=folder)
    make(tool("npx"), "--no-install", *command, folder=folder)


FORMATTER = "com.google.googlejavaformat:google-java-format:1.28.0:jar:all-deps"
GENERATED = "Tables.java"  # nobody reads it


def check_java_format():
    fetch(tool("mvn"), "--quiet", "--batch-mode", "dependency:copy", f"-Dartifact={FORMATTER}",
          f"-DoutputDirectory={MADE}", folder=MADE)
    sources = [path for path in JAVA.rglob("*.java") if path.name != GENERATED]
    make(str(jdk() / "java"), "-jar", str(next(MADE.glob("google-java-format-*.jar"))),
         "--dry-run", "--set-exit-if-changed", *map(str, sources), folder=ROOT)


CHECKS = {
    "go": {
        "vet": functools.partial(check_go, "go", "vet", "./..."),
        "gofmt": functools.partial(check_go, "sh", "-c", "gofmt -l . | (! grep .)"),
        "test": functools.partial(check_go, "go", "test", "./..."),
        "mod": functools.partial(check_go, "go", "mod", "tidy", "-diff"),
        "staticcheck": lambda: check_go(tool("staticcheck"), "./..."),
    },
    "java": {
        "test": check_java,
        "javadoc": check_javadoc,
        "format": check_java_format,
    },
    "rust": {
        "test": functools.partial(check_rust, "test", "--offline", "--quiet"),
        "fmt": functools.partial(check_rust, "fmt", "--check"),
        "doc": functools.partial(check_rust, "rustdoc", "--offline", "--quiet", "--lib", "--", "-D",
                                 "warnings"),
        "clippy": functools.partial(check_rust, "clippy", "--offline", "--quiet", "--all-targets",
                                    "--", "-D", "warnings"),
    },
    "node": {
        "test": functools.partial(check_node_alone, "--test", "test/golden.test.js"),
        "waiting": check_node_waiting,
        "reader": check_node_reader,
        "pack": check_node_pack,
        "types": functools.partial(check_node, "tsc", "--noEmit", "-p", "."),
        "tsd": functools.partial(check_node, "tsd"),
        "biome": functools.partial(check_node, "biome", "check", "."),
    },
}

# Examples that make circles: SOCKET SECRET CODE.
CIRCLES = {
    "c": lambda: [str(BUILD / "client" / "c" / "example_producer")],
    "cpp": functools.partial(of_meson, "example_producer_cpp"),
}

# Examples that learn: each gives a command, to which a folder and epochs are added.


def cpp_example():
    return of_meson("example_cpp")


def rust_example():
    command("rust")
    make(tool("cargo"), "build", "--offline", "--example", "softmax",
         folder=ROOT / "client" / "rust", CARGO_TARGET_DIR=str(MADE / "rust"))
    return [str(MADE / "rust" / "debug" / "examples" / "softmax")]


def java_example():
    java_classes()
    return [str(jdk() / "java"), "-cp", str(JAVA_OUT), str(JAVA / "example" / "Softmax.java")]


def node_example():
    """Without TensorFlow.js it says the average."""
    return [tool("node"), str(node_folder() / "example" / "average.js")]


def go_server():
    command("go")
    folder = ROOT / "client" / "go"
    make(tool("go"), "build", "-o", str(MADE / "serve"), "./example/serve", folder=folder)
    return [str(MADE / "serve")]


def go_training():
    command("go")
    make(tool("go"), "build", "-o", str(MADE / "train"), "./example/train",
         folder=ROOT / "client" / "go")
    return [str(MADE / "train")]


def rust_training():
    command("rust")
    make(tool("cargo"), "build", "--offline", "--example", "train",
         folder=ROOT / "client" / "rust", CARGO_TARGET_DIR=str(MADE / "rust"))
    return [str(MADE / "rust" / "debug" / "examples" / "train")]


def java_training():
    """Compiled beforehand, for it is started often."""
    command, out = java_classes(), MADE / "java" / "example"
    javac(out, JAVA / "example" / "Train.java")
    return [*command[:-1], f"{command[-1]}:{out}", "Train"]


def node_training():
    return [tool("node"), str(node_folder() / "example" / "train.js")]


# Examples that can be killed: DATASET STATE [BATCHES [STEP_MS]] (test_training.py).
TRAINING = {
    "c": lambda: [str(BUILD / "client" / "c" / "train")],
    "cpp": functools.partial(of_meson, "train_cpp"),
    "go": go_training,
    "java": java_training,
    "rust": rust_training,
    "node": node_training,
}
EXAMPLES = {"cpp": cpp_example, "rust": rust_example, "java": java_example}
PROGRAMS = {"go": go_program, "java": java_program, "rust": rust_program, "cpp": cpp_program,
            "node": node_program}


def chosen():
    """Those that $STOKER_CLIENTS names, or all."""
    names = os.environ.get("STOKER_CLIENTS")
    return names.split(",") if names else list(CLIENTS)


@functools.lru_cache(maxsize=None)
def command(name):
    """Its command; raises Missing or Broken, each time the same."""
    MADE.mkdir(parents=True, exist_ok=True)
    try:
        return CLIENTS[name][0](), None
    except (Missing, Broken) as error:
        return None, error
