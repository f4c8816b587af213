# SPDX-License-Identifier: MIT
"""libstoker as a package: what it shows, how it is called, and that an installed one is enough."""

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
LIBRARY = BUILD / "client" / "c" / "libstoker.so.0"


def run(*command, **options):
    return subprocess.run(list(map(str, command)), text=True, capture_output=True, check=True,
                          **options).stdout


def declared():
    """The functions of the public headers."""
    text = "".join(path.read_text() for path in (SOURCE / "client" / "c").glob("stoker*.h"))
    return set(re.findall(r"^STOKER_API [\w *]+?\b(stoker_\w+)\(", text, re.MULTILINE))


def test_the_symbols_are_those_of_the_header():
    shown = {line.split()[-1].split("@")[0]
             for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()
             if line.split()[-2] != "A"}
    assert shown == declared()
    listed = re.findall(r"^\t(stoker_\w+);", (SOURCE / "client/c/libstoker.syms").read_text(),
                        re.MULTILINE)
    assert listed == sorted(declared())
    assert len(shown) < 26


def test_the_soname():
    assert re.search(r"SONAME.*\[libstoker\.so\.0\]", run("readelf", "-d", LIBRARY))


@pytest.fixture(name="installed", scope="module")
def fixture_installed(tmp_path_factory):
    """What `meson install` puts into a folder, as compiler flags."""
    if not shutil.which("meson"):
        pytest.skip("no meson")
    folder = tmp_path_factory.mktemp("installed")
    run("meson", "install", "-C", BUILD, "--no-rebuild", env={**os.environ, "DESTDIR": folder})
    (pc,) = folder.rglob("stoker.pc")
    (library,) = folder.rglob("libstoker.so")
    (page,) = folder.rglob("stokerctl.1*")
    assert page.parent.name == "man1"
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent),
                   "PKG_CONFIG_SYSROOT_DIR": str(folder)}
    flags = run("pkg-config", "--cflags", "--libs", "stoker", env=environment).split()
    assert run("pkg-config", "--modversion", "stoker", env=environment).startswith("0.")
    return [*flags, f"-Wl,-rpath,{library.parent}"]


def test_each_file_is_in_a_package(installed):
    """debhelper refuses to build where one is in none."""
    folder = pathlib.Path(installed[-1].partition("rpath,")[2].partition("/usr/")[0])
    lines = [line.split()[0] for path in (SOURCE / "packaging/deb/debian").glob("*.install")
             for line in path.read_text().splitlines()]
    files = [str(path.relative_to(folder)).replace("usr/local", "usr", 1)
             for path in folder.rglob("*") if not path.is_dir()]
    # The library is in a folder of its architecture there, and here as --libdir says.
    lines += [re.sub(r"^usr/lib/\*/", "usr/lib/", line) for line in lines]
    assert files and not [file for file in files if not any(
        fnmatch.fnmatch(file, line) or fnmatch.fnmatch(file, line + "/*") for line in lines)]


@pytest.mark.parametrize("compiler, language", [("cc", "c"), ("c++", "c++")])
def test_a_program_is_built_with_what_is_installed(installed, tmp_path, compiler, language):
    program = tmp_path / "program"
    text = """
        #include <stoker.h>
        #include <stdio.h>
        int main()
        {
            struct stoker_options options = STOKER_OPTIONS_INIT;
            struct stoker *stoker = stoker_new();
            options.dataset = "/data";
            options.batch_size = 1;
            int result = stoker_attach(stoker, &options);
            printf("%s %d %s", stoker_version(), result, stoker_error(stoker));
            stoker_free(stoker);
            return 0;
        }"""
    done = subprocess.run([compiler, "-x", language, "-Wall", "-Wextra", "-Werror", "-", "-o",
                           str(program), *installed],
                          input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+\.\d+\.\d+ -107 not connected to stokerd", run(program))


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(outside C CXX)
find_package(stoker 0.1 REQUIRED)
add_executable(in_c main.c)
add_executable(in_cpp main.cpp)
target_compile_features(in_cpp PRIVATE cxx_std_17)
target_link_libraries(in_c stoker::stoker)
target_link_libraries(in_cpp stoker::stoker)
"""


def test_cmake_finds_what_is_installed(installed, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    prefix = pathlib.Path(installed[-1].partition("rpath,")[2]).parents[0]
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "main.c").write_text("""
        #include <stdio.h>
        #include <stoker.h>
        int main(void) { return puts(stoker_version()) < 0; }""")
    (tmp_path / "main.cpp").write_text("""
        #include <iostream>
        #include <stoker.hpp>
        int main()
        {
            try {
                stk::parse<stk::dtype>("flaot32");
            } catch (const stk::error &error) {
                std::cout << error.what();
            }
        }""")
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build"]
    run(*configure, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "in_c").startswith("0.")
    assert run(tmp_path / "build" / "in_cpp") == \
        'there is no dtype "flaot32": did you mean float32?'
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("stoker 0.1", "stoker 99"))
    with pytest.raises(subprocess.CalledProcessError):
        run(*configure, f"-DCMAKE_PREFIX_PATH={prefix}")


def test_each_function_has_a_page(installed):
    folder = pathlib.Path(installed[-1].partition("rpath,")[2].partition("/usr/")[0])
    pages = {path.name.partition(".")[0] for path in folder.rglob("man3/*") if path.exists()}
    assert pages == declared() | {"stoker"}


def test_symbols_have_versions():
    """Of the soname, so that a later library can change one and keep the old."""
    shown = run("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY)
    assert shown.count("@@LIBSTOKER_0") == len(declared())
