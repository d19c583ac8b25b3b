import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';
import {
  type CompilerTable,
  cudaBlas,
  cudaCompiler,
  cudaDriver,
  cudaNccl,
  hipBlas,
  hipCompiler,
  hipDriver,
  hipNccl,
} from '../devices/hip-cuda/index.ts';

/** The libraries that a GPU device calls. */
export type GpuLibrary = 'driver' | 'compiler' | 'companion' | 'blas' | 'collectives';

/** What decides where libraries are. */
export interface LibrarySystem {
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The names in a folder; none if it is not there. */
  readonly list: (folder: string) => readonly string[];
}

const THIS_SYSTEM: LibrarySystem = {
  platform: process.platform,
  environment: process.env,
  home: homedir(),
  list: (folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  },
};

type Names = Readonly<Record<'hip' | 'cuda', Readonly<Record<GpuLibrary, readonly string[]>>>>;

/** File names on Linux, best first. */
const LINUX: Names = {
  hip: {
    driver: hipDriver.libraries,
    compiler: hipCompiler.libraries,
    companion: hipCompiler.companions,
    blas: hipBlas.libraries,
    collectives: hipNccl.libraries,
  },
  cuda: {
    driver: cudaDriver.libraries,
    compiler: cudaCompiler.libraries,
    companion: cudaCompiler.companions,
    blas: cudaBlas.libraries,
    collectives: cudaNccl.libraries,
  },
};

/** Minor releases of CUDA and ROCm, by which their files are named on Windows, newest first. */
const CUDA_RELEASES = [
  '133',
  '132',
  '131',
  '130',
  '129',
  '128',
  '126',
  '125',
  '124',
  '123',
  '122',
  '121',
  '120',
];
const HIPRTC_RELEASES = [
  '0702',
  '0701',
  '0700',
  '0604',
  '0603',
  '0602',
  '0601',
  '0600',
  '0507',
  '0506',
  '0505',
];

/** File names on Windows, where there is neither NCCL nor RCCL: of CUDA's toolkit, of NVIDIA's and AMD's drivers and of the HIP SDK. */
const WINDOWS: Names = {
  hip: {
    driver: ['amdhip64_7.dll', 'amdhip64_6.dll', 'amdhip64.dll'],
    compiler: HIPRTC_RELEASES.map((release) => `hiprtc${release}.dll`),
    companion: [],
    blas: ['libhipblaslt.dll', 'hipblaslt.dll'],
    collectives: [],
  },
  cuda: {
    driver: ['nvcuda.dll'],
    compiler: ['nvrtc64_130_0.dll', 'nvrtc64_120_0.dll'],
    companion: CUDA_RELEASES.map((release) => `nvrtc-builtins64_${release}.dll`),
    blas: ['cublasLt64_13.dll', 'cublasLt64_12.dll'],
    collectives: [],
  },
};

/**
 * Where a library may be, best first: each name as the system's loader finds it, then in the folders of toolkits and Python
 * environments that have it.
 */
export function libraryPlaces(
  api: 'hip' | 'cuda',
  library: GpuLibrary,
  system: LibrarySystem = THIS_SYSTEM,
): string[] {
  const { join } = system.platform === 'win32' ? win32 : posix;
  const names = (system.platform === 'win32' ? WINDOWS : LINUX)[api][library];
  const folders = (api === 'cuda' ? cudaFolders : rocmFolders)(system).map((folder) => ({
    folder,
    has: new Set(system.list(folder)),
  }));
  return names.flatMap((name) => [
    name,
    ...folders.filter(({ has }) => has.has(name)).map(({ folder }) => join(folder, name)),
  ]);
}

/** A driver's run-time compiler with the places where its libraries may be on this machine. */
export function compilerTable(api: 'hip' | 'cuda'): CompilerTable {
  const table = api === 'cuda' ? cudaCompiler : hipCompiler;
  return {
    ...table,
    libraries: libraryPlaces(api, 'compiler'),
    companions: libraryPlaces(api, 'companion'),
  };
}

/** The command that installs a missing run-time compiler for a driver of this version. */
export function compilerAdvice(api: 'hip' | 'cuda', driverVersion: string): string {
  if (api === 'hip') {
    return process.platform === 'win32'
      ? 'Install the HIP SDK, or set HIP_PATH to its folder'
      : 'Install ROCm’s run-time compiler (Debian, Ubuntu: apt install hip-runtime-amd), or set ROCM_PATH to its folder';
  }
  // Newer packages are named without the release, and need a driver of that release.
  const name = driverVersion.startsWith('12.') ? 'nvidia-cuda-nvrtc-cu12' : 'nvidia-cuda-nvrtc';
  return `Install NVIDIA’s run-time compiler: pip install ${name}; or the CUDA toolkit, with CUDA_PATH as its folder`;
}

function rocmFolders({ platform, environment: { HIP_PATH, ROCM_PATH } }: LibrarySystem): string[] {
  if (platform === 'win32') return given(HIP_PATH).map((root) => win32.join(root, 'bin'));
  return [...given(ROCM_PATH), '/opt/rocm'].map((root) => posix.join(root, 'lib'));
}

/** Folders of the CUDA toolkit, of conda's packages and of NVIDIA's packages for Python. */
function cudaFolders(system: LibrarySystem): string[] {
  const { platform, environment } = system;
  const { CUDA_PATH, CUDA_HOME, CONDA_PREFIX } = environment;
  const roots = [...given(CUDA_PATH), ...given(CUDA_HOME)];
  if (platform === 'win32') {
    const bins = [
      ...roots.map((root) => win32.join(root, 'bin')),
      ...given(CONDA_PREFIX).map((prefix) => win32.join(prefix, 'Library', 'bin')),
      ...nvidiaPackages(system).map((folder) => win32.join(folder, 'bin')),
    ];
    // CUDA 13 has its libraries a folder deeper.
    return bins.flatMap((bin) => [bin, win32.join(bin, 'x64'), win32.join(bin, 'x86_64')]);
  }
  return [
    ...[...roots, '/usr/local/cuda'].flatMap((root) => [
      posix.join(root, 'lib64'),
      posix.join(root, 'targets/x86_64-linux/lib'),
      posix.join(root, 'targets/sbsa-linux/lib'),
    ]),
    ...given(CONDA_PREFIX).map((prefix) => posix.join(prefix, 'lib')),
    ...nvidiaPackages(system).map((folder) => posix.join(folder, 'lib')),
  ];
}

/** The folders of NVIDIA's packages for Python: `nvidia/cuda_nvrtc`, `nvidia/cu13` and so on of each environment. */
function nvidiaPackages(system: LibrarySystem): string[] {
  const { join } = system.platform === 'win32' ? win32 : posix;
  return pythonPackages(system).flatMap((packages) => {
    const nvidia = join(packages, 'nvidia');
    return system.list(nvidia).map((name) => join(nvidia, name));
  });
}

/** Folders of Python packages: of the active environment, the user's and the system's. */
function pythonPackages({ platform, environment, home, list }: LibrarySystem): string[] {
  const { VIRTUAL_ENV, CONDA_PREFIX, APPDATA, LOCALAPPDATA } = environment;
  const environments = [...given(VIRTUAL_ENV), ...given(CONDA_PREFIX)];
  const versionsIn = (folder: string, join: (...parts: string[]) => string) =>
    list(folder)
      .filter((name) => /^python3/i.test(name))
      .map((name) => join(folder, name));
  if (platform === 'win32') {
    const users = given(APPDATA).flatMap((folder) => versionsIn(win32.join(folder, 'Python'), win32.join));
    const installed = given(LOCALAPPDATA).flatMap((folder) =>
      versionsIn(win32.join(folder, 'Programs', 'Python'), win32.join),
    );
    return [
      ...[...environments, ...installed].map((prefix) => win32.join(prefix, 'Lib', 'site-packages')),
      ...users.map((folder) => win32.join(folder, 'site-packages')),
    ];
  }
  const prefixes = [...environments, posix.join(home, '.local'), '/usr/local', '/usr'];
  return prefixes
    .flatMap((prefix) => versionsIn(posix.join(prefix, 'lib'), posix.join))
    .flatMap((python) => [posix.join(python, 'site-packages'), posix.join(python, 'dist-packages')]);
}

function given(value: string | undefined): string[] {
  return value ? [value] : [];
}
