#!/usr/bin/env node
import nodeModule = require('node:module');
import os = require('node:os');

// Compiled code is kept from one start to the next, from Node 22 on: a third of what reading ours takes.
(nodeModule as { enableCompileCache?: () => unknown }).enableCompileCache?.();
// Reads of a file run on libuv's threads, four unless the environment says otherwise before the first one starts: too few
// for the speed of a page cache. An ES module is too late to say so; this one is not.
process.env['UV_THREADPOOL_SIZE'] ??= String(Math.min(32, Math.max(16, os.cpus().length)));
// What the build makes of main.ts: see scripts/build-bin.mjs.
const MAIN = '../bin/main.js';
void import(MAIN);
