import assert from 'node:assert/strict';
import { posix, win32 } from 'node:path';
import { test } from 'node:test';
import { cacheFolder } from '../../src/node/disk-kernel-cache.ts';
import { compilerAdvice, type LibrarySystem, libraryPlaces } from '../../src/node/library-places.ts';

/** A system on which these files are, and nothing else. */
function systemWith(
  platform: NodeJS.Platform,
  environment: Record<string, string>,
  files: readonly string[],
): LibrarySystem {
  const { dirname, basename, join } = platform === 'win32' ? win32 : posix;
  const list = (folder: string): string[] => {
    const path = join(folder, '.');
    const below = new Set<string>();
    for (let file of files) {
      for (; dirname(file) !== file; file = dirname(file))
        if (dirname(file) === path) below.add(basename(file));
    }
    return [...below];
  };
  const home = platform === 'win32' ? 'C:\\Users\\ann' : '/home/ann';
  return { platform, environment, home, list };
}

/** Places that are no bare names. */
function found(
  system: LibrarySystem,
  library: Parameters<typeof libraryPlaces>[1],
  api: 'hip' | 'cuda' = 'cuda',
): string[] {
  return libraryPlaces(api, library, system).filter((place) => /[\\/]/.test(place));
}

test('a machine without anything has the names that the loader knows, the newest first', () => {
  const linux = systemWith('linux', {}, []);
  assert.deepEqual(libraryPlaces('cuda', 'compiler', linux), [
    'libnvrtc.so.13',
    'libnvrtc.so.12',
    'libnvrtc.so',
  ]);
  assert.deepEqual(libraryPlaces('cuda', 'driver', linux), ['libcuda.so.1', 'libcuda.so']);
  const windows = systemWith('win32', {}, []);
  assert.deepEqual(libraryPlaces('cuda', 'driver', windows), ['nvcuda.dll']);
  assert.deepEqual(libraryPlaces('cuda', 'compiler', windows), ['nvrtc64_130_0.dll', 'nvrtc64_120_0.dll']);
  assert.equal(libraryPlaces('hip', 'driver', windows)[0], 'amdhip64_7.dll');
});

test('NVRTC is found in the toolkit, in an environment of Python, the user’s and the system’s packages, and in conda’s', () => {
  const packages = 'lib/python3.12/site-packages/nvidia';
  for (const [environment, file] of [
    [{}, '/usr/local/cuda/lib64/libnvrtc.so.12'],
    [{ CUDA_PATH: '/opt/cuda' }, '/opt/cuda/lib64/libnvrtc.so.12'],
    [{ CUDA_HOME: '/opt/cuda' }, '/opt/cuda/targets/x86_64-linux/lib/libnvrtc.so.12'],
    [{ VIRTUAL_ENV: '/w/venv' }, `/w/venv/${packages}/cuda_nvrtc/lib/libnvrtc.so.12`],
    [{ VIRTUAL_ENV: '/w/venv' }, `/w/venv/${packages}/cu13/lib/libnvrtc.so.13`],
    [{}, `/home/ann/.local/${packages}/cuda_nvrtc/lib/libnvrtc.so.12`],
    [{}, '/usr/local/lib/python3.11/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12'],
    [{ CONDA_PREFIX: '/w/conda' }, '/w/conda/lib/libnvrtc.so.12'],
    [{ CONDA_PREFIX: '/w/conda' }, `/w/conda/${packages}/cuda_nvrtc/lib/libnvrtc.so.12`],
  ] as const) {
    assert.deepEqual(found(systemWith('linux', environment, [file]), 'compiler'), [file]);
  }
  for (const [environment, file] of [
    [{ CUDA_PATH: 'C:\\CUDA\\v12.8' }, 'C:\\CUDA\\v12.8\\bin\\nvrtc64_120_0.dll'],
    [{ CUDA_PATH: 'C:\\CUDA\\v13.0' }, 'C:\\CUDA\\v13.0\\bin\\x64\\nvrtc64_130_0.dll'],
    [
      { VIRTUAL_ENV: 'C:\\w\\venv' },
      'C:\\w\\venv\\Lib\\site-packages\\nvidia\\cuda_nvrtc\\bin\\nvrtc64_120_0.dll',
    ],
    [
      { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' },
      'C:\\Users\\ann\\AppData\\Roaming\\Python\\Python312\\site-packages\\nvidia\\cu13\\bin\\x86_64\\nvrtc64_130_0.dll',
    ],
    [
      { LOCALAPPDATA: 'C:\\Users\\ann\\AppData\\Local' },
      'C:\\Users\\ann\\AppData\\Local\\Programs\\Python\\Python312\\Lib\\site-packages\\nvidia\\cuda_nvrtc\\bin\\nvrtc64_120_0.dll',
    ],
    [{ CONDA_PREFIX: 'C:\\conda' }, 'C:\\conda\\Library\\bin\\nvrtc64_120_0.dll'],
  ] as const) {
    assert.deepEqual(found(systemWith('win32', environment, [file]), 'compiler'), [file]);
  }
});

test('the compiler’s companion, cuBLASLt and ROCm’s libraries are found likewise', () => {
  const nvidia = '/w/venv/lib/python3.12/site-packages/nvidia';
  const files = [
    `${nvidia}/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8`,
    `${nvidia}/cublas/lib/libcublasLt.so.12`,
  ];
  const linux = systemWith('linux', { VIRTUAL_ENV: '/w/venv' }, files);
  assert.deepEqual([...found(linux, 'companion'), ...found(linux, 'blas')], files);
  const rocm = systemWith('linux', {}, ['/opt/rocm/lib/libhiprtc.so.6']);
  assert.deepEqual(found(rocm, 'compiler', 'hip'), ['/opt/rocm/lib/libhiprtc.so.6']);
  const sdk = systemWith('win32', { HIP_PATH: 'C:\\ROCm\\6.2' }, ['C:\\ROCm\\6.2\\bin\\hiprtc0602.dll']);
  assert.deepEqual(found(sdk, 'compiler', 'hip'), ['C:\\ROCm\\6.2\\bin\\hiprtc0602.dll']);
});

test('a better name comes before a better folder', () => {
  const files = [
    '/usr/local/cuda/lib64/libnvrtc.so.12',
    '/w/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13',
  ];
  const places = libraryPlaces('cuda', 'compiler', systemWith('linux', { VIRTUAL_ENV: '/w/venv' }, files));
  assert.deepEqual(places, ['libnvrtc.so.13', files[1], 'libnvrtc.so.12', files[0], 'libnvrtc.so']);
});

test('who lacks a compiler is told the command that fits the driver', () => {
  assert.match(compilerAdvice('cuda', '12.8'), /pip install nvidia-cuda-nvrtc-cu12;/);
  assert.match(compilerAdvice('cuda', '13.0'), /pip install nvidia-cuda-nvrtc;/);
  assert.match(compilerAdvice('hip', '6.2.1'), /apt install hip-runtime-amd|HIP SDK/);
});

test('what is kept between runs lies in the platform’s own folder, unless XDG_CACHE_HOME says otherwise', () => {
  const own = { LOCALAPPDATA: '/local' };
  assert.equal(cacheFolder(own, 'win32'), posix.join('/local', 'rocmforge'));
  assert.match(cacheFolder(own, 'linux'), /\.cache.rocmforge$/);
  assert.equal(cacheFolder({ ...own, XDG_CACHE_HOME: '/cache' }, 'win32'), posix.join('/cache', 'rocmforge'));
});
