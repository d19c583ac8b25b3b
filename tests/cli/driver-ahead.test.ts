import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driversFor } from '../../src/cli/driver-ahead.ts';

test('the driver that a command line needs is known before it is parsed', () => {
  const cases: readonly (readonly [commandLine: string, drivers: readonly string[]])[] = [
    ['run', ['cuda', 'hip']],
    ['--log debug chat -m model.gguf', ['cuda', 'hip']],
    ['run --device auto', ['cuda', 'hip']],
    ['run -d cuda', ['cuda']],
    ['bench --device=hip:1', ['hip']],
    ['serve -dcuda:0', ['cuda']],
    ['run --device cpu', []],
    ['run --device', ['cuda', 'hip']],
    ['perplexity --device webgpu', []],
    ['run --device nonsense', []],
    ['run -d cpu --device=cuda', ['cuda']],
    ['run --device cuda -d cpu', []],
    ['run -p tokenize', ['cuda', 'hip']],
    ['tokenize run', []],
    ['run --help', []],
    ['run --version', []],
    ['inspect model.gguf', []],
    ['devices', []],
    ['', []],
  ];
  for (const [commandLine, drivers] of cases) {
    assert.deepEqual(driversFor(commandLine.split(' ')), drivers, commandLine);
  }
});
