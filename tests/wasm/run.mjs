// node run.mjs FOLDER ARGS...: pytest with these arguments in Pyodide, on the checkout in the current folder.
// FOLDER holds node_modules/pyodide, wheels/*.whl (NumPy and ml_dtypes for WebAssembly) and packages/ (pytest and what it needs).
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...args] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.resolve(folder, "node_modules/pyodide/pyodide.mjs")));
const python = await loadPyodide({ env: { HOME: "/tmp", AUTOLAB_HOME: "off", AUTOLAB_FAST: process.env.AUTOLAB_FAST ?? "" } });
// A Node Buffer is refused, so each wheel is copied into an array.
for (const wheel of fs.readdirSync(path.join(folder, "wheels")))
  python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(folder, "wheels", wheel))).buffer, "wheel", { extractDir: "/wheels" });
python.mountNodeFS("/packages", path.resolve(folder, "packages"));
python.mountNodeFS("/checkout", process.cwd());
python.globals.set("args", python.toPy(args));
process.exitCode = python.runPython(`
import os, sys
sys.path[:0] = ["/checkout", "/packages", "/wheels"]
sys.dont_write_bytecode = True
os.chdir("/checkout")
import pytest
options = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "--tb=short", "-o", "addopts=--import-mode=importlib --doctest-modules"]
int(pytest.main([*options, *args]))
`);
