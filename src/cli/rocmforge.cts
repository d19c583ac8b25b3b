#!/usr/bin/env node
// Reads of a file run on libuv's threads, four unless the environment says otherwise before the first one starts: too few
// for the speed of a page cache. An ES module is too late to say so; this one is not.
process.env['UV_THREADPOOL_SIZE'] ??= '16';
// What the build makes of main.ts: see scripts/build-cli.mjs.
const MAIN = '../bin/main.js';
void import(MAIN);
