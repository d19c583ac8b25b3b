import { entry } from './entry.ts';

/** Failures of native libraries, GPU drivers and their run-time compilers. */
export const hipCudaErrors = {
  FFI_UNAVAILABLE: entry<{ why: string }>(
    503,
    'Native libraries cannot be called on this machine.',
    'Install the optional dependency koffi for this platform (npm install koffi), or use another device.',
    (p) => `native calls are not available: ${p.why}`,
  ),
  LIBRARY_NOT_FOUND: entry<{ library: string; reasons: string }>(
    503,
    'A driver library is not installed where the system looks for it.',
    'Install the GPU driver (ROCm for AMD; for NVIDIA the driver, and NVRTC by `pip install nvidia-cuda-nvrtc`), or set LD_LIBRARY_PATH (on Windows PATH) to its folder.',
    (p) => `${p.library} was not found: ${p.reasons}`,
  ),
  SYMBOL_NOT_FOUND: entry<{ library: string; symbol: string }>(
    503,
    'A driver library is too old or too new: it lacks a required function.',
    'Use a supported version: ROCm 5 to 7, CUDA 12 or 13.',
    (p) => `${p.library} has no ${p.symbol}`,
  ),
  DRIVER_CALL: entry<{ device: string; call: string; status: number; text: string; hint: string }>(
    500,
    'A call to the GPU driver failed.',
    'Follow the hint in the message; `--log trace` shows the calls before it.',
    (p) => `device ${p.device}: ${p.call} returned status ${p.status}, ${p.text}; ${p.hint}`,
  ),
  DRIVER_ECHO: entry<{ device: string; bytes: number; wrong: number }>(
    503,
    'Data was corrupted when it was copied to the device and back.',
    'Update the driver; on a virtual machine, check the IOMMU and PCIe settings. Until then, use --device cpu.',
    (p) => `device ${p.device}: of ${p.bytes} bytes copied to it and back, ${p.wrong} are wrong`,
  ),
  KERNEL_COMPILE: entry<{ kernel: string; target: string; log: string }>(
    500,
    "A kernel could not be compiled by the driver's run-time compiler, or one for the CPU by the C++ compiler.",
    'Check that the compiler (hipRTC, NVRTC) matches the version of the driver and supports the GPU, or run the CPU with `--cpu-kernels wasm`; please report the log.',
    (p) => `kernel ${p.kernel} does not compile for ${p.target}: ${p.log}`,
  ),
  KERNEL_MISSING: entry<{ kernel: string; found: string }>(
    500,
    'A requested kernel is missing from the compiled module.',
    'This is a bug in the kernels.',
    (p) => `kernel ${p.kernel}: ${p.found}`,
  ),
} as const;
