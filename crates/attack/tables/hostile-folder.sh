# Makes the working folder hostile to tools that are asked or run in it, and becomes the program: FILE COMMAND... What is executed of the
# folder leaves its name in FILE.
marker=$1
shift
mkdir -p chain/bin .cargo
for tool in cargo rustc go node python3 java javac g++ gcc cc as ld make git perf valgrind qemu-system-x86_64; do
    printf '#!/bin/sh\necho %s >> %s\nexit 1\n' "$tool" "$marker" > "chain/bin/$tool"
    chmod +x "chain/bin/$tool"
    cp "chain/bin/$tool" "$tool"
done
printf '[toolchain]\npath = "%s/chain"\n' "$PWD" > rust-toolchain.toml
printf '[build]\nrustc-wrapper = "%s/chain/bin/rustc"\n' "$PWD" > .cargo/config.toml
for module in json sys sysconfig os site handoffs; do
    printf 'open("%s", "a").write("%s.py")\n' "$marker" "$module" > "$module.py"
done
printf 'os.execute("echo lua >> %s")\n' "$marker" | tee handoffs.lua > init.lua
printf 'all:\n\techo make >> %s\n' "$marker" | tee Makefile > GNUmakefile
echo '{"type": "module"}' > package.json
echo 'node-options=--require /nonexistent.js' > .npmrc
echo 2.7 > .python-version
echo 'python 2.7' > .tool-versions
echo '{"sdk": {"version": "1.0.0"}}' > global.json
echo 'go 9.99' > go.work
printf 'module hostile\ngo 9.99\n' > go.mod
echo 'no Go' > hostile.go
echo '--tool=none' > .valgrindrc
export SHELL=/bin/sh
exec "$@"
