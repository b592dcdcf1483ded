import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from './run-program.ts'

/** A published version: `digests` has the SHA-256 (hex) of each file that is known beforehand, by file name. */
export interface Release {
  version: string
  /** The folder that holds the archives, without a final slash. */
  address: string
  digests: Record<string, string>
}

/** The settings are there for tests: another place to download from, and less patience (milliseconds). */
export interface ReleaseOptions {
  release?: Release
  /** Longest silence, that before the first answer included. */
  quietMs?: number
  /** Longest download altogether. */
  overallMs?: number
}

/** The release that is installed when the machine has none. A newer version needs its own digests. */
export const officialRelease: Release = {
  version: '2.14.5',
  address: 'https://github.com/nats-io/nats-server/releases/download/v2.14.5',
  digests: {
    'nats-server-v2.14.5-linux-amd64.tar.gz':
      '5e3b603d47c447bda1f77f9ac16dbf91c90aac4ff3681f8fbbc7201e4ed99355',
    'nats-server-v2.14.5-linux-arm64.tar.gz':
      '673a98d3faa79dde3f9ebf16d6dfac36a5f694e7ad2015e4954dd7939c85cd4c',
    'nats-server-v2.14.5-windows-amd64.zip':
      'f66f840a211ab665083b88e9b7edbcf6296cda143be47e53e6f6bb8520692bbb',
    'nats-server-v2.14.5-darwin-arm64.tar.gz':
      'ddd907854d9a2de834af133fa396915fe6442fe6d8909ae31390d1ea7a0fea50',
    SHA256SUMS: '2e842f2670eb0eed2c65f2a58ac3f0c439256d607e9654ebd6999859c18ed0e0',
  },
}

/** Lists the digests of all archives; its own is pinned, so it vouches for the platforms not named above. */
const manifest = 'SHA256SUMS'

/** A machine without a route to the release must go on quickly: this is what the first start waits at most. */
const defaultQuietMs = 5_000

/** Enough for 8 MB over a line of 1 Mbit/s. */
const defaultOverallMs = 120_000

/** Archives have 6 to 8 MB; a body without an end must not fill the memory. */
const maxBytes = 64 * 2 ** 20

/** Unpacking takes less than 1 s. */
const unpackMs = 60_000

/** Downloads the archive for this platform, checks its digest, unpacks it in `work`; returns the executable. */
export async function unpackRelease(work: string, options: ReleaseOptions): Promise<string> {
  const { release = officialRelease } = options
  const archive = archiveName(release.version)
  const digest = release.digests[archive] ?? (await digestFromManifest(archive, release, options))
  await writeFile(join(work, archive), await download(archive, digest, release, options))
  // bsdtar (Windows, macOS) unpacks .zip as well; names are relative because GNU tar takes C: for a host.
  const args = ['-xf', archive, '--strip-components=1', '--no-same-owner']
  await runProgram('tar', args, { cwd: work, timeoutMs: unpackMs })
  return join(work, process.platform === 'win32' ? 'nats-server.exe' : 'nats-server')
}

/** The file name of a release's archive; platform and processor are Node's words for them. */
export function archiveName(
  version: string,
  platform: string = process.platform,
  arch: string = process.arch,
): string {
  const system = platform === 'win32' ? 'windows' : platform
  const processors: Record<string, string> = { x64: 'amd64', ia32: '386', arm: 'arm7', ppc64: 'ppc64le' }
  return `nats-server-v${version}-${system}-${processors[arch] ?? arch}.${platform === 'win32' ? 'zip' : 'tar.gz'}`
}

async function digestFromManifest(
  archive: string,
  release: Release,
  options: ReleaseOptions,
): Promise<string> {
  const pinned = release.digests[manifest]
  if (pinned === undefined) throw new Error(`no digest is known for ${archive}`)
  const lines = (await download(manifest, pinned, release, options)).toString('utf8').split('\n')
  const digest = lines.map((line) => line.trim().split(/\s+\*?/)).find(([, name]) => name === archive)?.[0]
  if (digest === undefined) throw new Error(`release ${release.version} has no ${archive}`)
  return digest
}

async function download(
  file: string,
  digest: string,
  release: Release,
  options: ReleaseOptions,
): Promise<Buffer> {
  const { quietMs = defaultQuietMs, overallMs = defaultOverallMs } = options
  const url = `${release.address}/${file}`
  const body = await fetchBody(url, quietMs, overallMs).catch((cause: unknown) => {
    throw new Error(`cannot download ${url}: ${reasonOf(cause)}`, { cause })
  })
  const actual = createHash('sha256').update(body).digest('hex')
  if (actual !== digest) throw new Error(`${url} was rejected: its SHA-256 is ${actual}, not ${digest}`)
  return body
}

async function fetchBody(url: string, quietMs: number, overallMs: number): Promise<Buffer> {
  const stop = new AbortController()
  const quiet = setTimeout(() => stop.abort(new Error(`no data received for ${quietMs / 1000} s`)), quietMs)
  const late = new Error(`not finished after ${overallMs / 1000} s`)
  const overall = setTimeout(() => stop.abort(late), overallMs)
  try {
    const { ok, status, body } = await fetch(url, { signal: stop.signal })
    if (!ok || body === null) throw new Error(`the server returned HTTP ${status}`)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of body) {
      quiet.refresh()
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`the file is larger than ${maxBytes / 2 ** 20} MiB`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(quiet)
    clearTimeout(overall)
    stop.abort()
  }
}

/** `fetch failed` alone helps nobody: its cause says what failed (with an empty message for several addresses). */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error.cause instanceof Error)) return error.message
  const { code = error.message }: NodeJS.ErrnoException = error.cause
  return error.cause.message || code
}
