// Writes what ggml makes of the rows in `tests/support/rows-to-encode.ts`, in every format that our encoders know:
// `node dist/bench/encoded-blocks.js <llama.cpp> <its build folder>`, with a C++ compiler and a build with static libraries.
// `tests/formats/encoded-blocks.test.ts` compares our encoders with it. A file holds the rows without importance, then the
// same rows with it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_FORMATS } from '../src/formats/index.ts';
import { fixture } from '../tests/support/fixture.ts';
import { ROW_ELEMENTS, rowsToEncode } from '../tests/support/rows-to-encode.ts';

const HARNESS = `
#include "ggml.h"
#include <cstdio>
#include <cstdlib>
#include <vector>
static std::vector<float> read(const char *path) {
  FILE *file = fopen(path, "rb");
  std::vector<float> values;
  for (float value; fread(&value, 4, 1, file) == 1;) values.push_back(value);
  fclose(file);
  return values;
}
int main(int count, char **words) {
  const auto values = read(words[1]), importance = read(words[2]);
  const ggml_type type = (ggml_type)atoi(words[3]);
  const int64_t columns = importance.size(), rows = values.size() / columns;
  std::vector<char> bytes(rows * ggml_row_size(type, columns));
  FILE *file = fopen(words[4], "wb");
  // Some formats cannot do without importance: then all columns are alike.
  const std::vector<float> alike(columns, 1.0f);
  const float *without = ggml_quantize_requires_imatrix(type) ? alike.data() : nullptr;
  for (const float *weights : {without, importance.data()}) {
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, rows, columns, weights);
    fwrite(bytes.data(), 1, bytes.size(), file);
  }
  return fclose(file);
}
`;

const [llama, build] = process.argv.slice(2);
if (llama === undefined || build === undefined) throw new Error('say where llama.cpp and its build are');
const folder = mkdtempSync(join(tmpdir(), 'encoded-blocks-'));
const { rows, importance } = rowsToEncode();
const values = new Float32Array(rows.length * ROW_ELEMENTS);
for (const [i, row] of rows.entries()) values.set(row, i * ROW_ELEMENTS);
writeFileSync(join(folder, 'values'), values);
writeFileSync(join(folder, 'importance'), importance);
writeFileSync(join(folder, 'harness.cpp'), HARNESS);
const libraries = ['ggml', 'ggml-cpu', 'ggml-base'].map((name) => join(build, `ggml/src/lib${name}.a`));
execFileSync('g++', [
  ...['-O2', '-I', join(llama, 'ggml/include'), join(folder, 'harness.cpp'), ...libraries],
  ...['-lgomp', '-lpthread', '-ldl', '-o', join(folder, 'harness')],
]);
mkdirSync(fixture('encoded-blocks'), { recursive: true });
for (const format of ALL_FORMATS) {
  if (!format.encode || !format.layout) continue;
  const to = fixture(`encoded-blocks/${format.name}.bin`);
  const words = [join(folder, 'values'), join(folder, 'importance'), String(format.ggmlType), to];
  execFileSync(join(folder, 'harness'), words, { stdio: 'inherit' });
}
rmSync(folder, { recursive: true });
