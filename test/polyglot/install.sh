#!/usr/bin/env bash
# Installs below .cache/ what the templates buf.gen.*.yaml and the tests in other languages need: a Python
# environment with grpcio and its protoc, the plugins for Go, Rust and Java. Nothing is done again while the
# pinned versions are there. Arguments choose languages (python go rust java); without any: all.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=$PWD/.cache
bin=$cache/bin
mkdir -p "$bin"

install_python() {
  local requirements=test/polyglot/python/requirements.txt venv=$cache/venv uv=$cache/uv/bin/uv
  # A copy of the list, left behind by the last complete install, tells whether it is still the one wanted.
  if cmp -s "$requirements" "$venv/installed.txt"; then return; fi
  if [ ! -x "$uv" ]; then
    python3 -m venv "$cache/uv"
    "$cache/uv/bin/pip" install --quiet --disable-pip-version-check uv==0.13.9
  fi
  if [ ! -x "$venv/bin/python" ]; then "$uv" venv --quiet "$venv"; fi
  "$uv" pip install --quiet --python "$venv/bin/python" --requirement "$requirements"
  cp "$requirements" "$venv/installed.txt"
}

# go_plugin PACKAGE VERSION
go_plugin() {
  local plugin=$bin/${1##*/}
  if [ ! -x "$plugin" ] || ! go version -m "$plugin" | grep -qF "$2"; then
    GOBIN=$bin go install "$1@$2"
  fi
}

install_go() {
  go_plugin google.golang.org/protobuf/cmd/protoc-gen-go v1.36.12
  go_plugin google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2
}

# rust_plugin CRATE VERSION
rust_plugin() {
  if [ ! -x "$bin/$1" ] || ! grep -qsF "\"$1 $2 " "$cache/.crates.toml"; then
    cargo install --quiet --locked --root "$cache" "$1@$2"
  fi
}

install_rust() {
  rust_plugin protoc-gen-prost 0.5.0
  rust_plugin protoc-gen-tonic 0.5.0
}

# maven_executable GROUP ARTIFACT VERSION
maven_executable() {
  local platform=linux-x86_64
  case "$(uname -s)-$(uname -m)" in
    Linux-aarch64) platform=linux-aarch_64 ;;
    Darwin-arm64) platform=osx-aarch_64 ;;
    Darwin-x86_64) platform=osx-x86_64 ;;
  esac
  local file=$cache/java/$2-$3-$platform.exe
  if [ ! -e "$file" ]; then
    mvn -q -B dependency:copy -Dartifact="$1:$2:$3:exe:$platform" -DoutputDirectory="$cache/java"
  fi
  chmod +x "$file"
  ln -sf "$file" "$bin/$2"
}

install_java() {
  maven_executable com.google.protobuf protoc 4.36.2
  maven_executable io.grpc protoc-gen-grpc-java 1.83.0
}

if [ $# -eq 0 ]; then set -- python go rust java; fi
for language in "$@"; do "install_$language"; done
