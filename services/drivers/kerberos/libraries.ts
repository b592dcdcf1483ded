import type * as koffi from 'koffi'
import { fromLibraries } from '../native/libraries.ts'

/** What the libraries hand out and take back, never looked into. */
export type Handle = unknown

/** Text of the caller's. */
interface Given {
  readonly length: number
  readonly value: string
}

/** Bytes of the caller's. */
interface GivenBytes {
  readonly length: number
  readonly value: Buffer
}

/** Bytes of the library's, to be released. */
interface Taken {
  length: number
  value: Handle
}

interface Oid {
  readonly length: number
  readonly elements: Buffer
}

interface KeyValues {
  readonly count: number
  readonly elements: readonly { readonly key: string; readonly value: string }[]
}

type Out<T> = [T]
/** A function of a library that runs in another thread. */
type InThread<A extends readonly unknown[]> = (...parameters: A) => Promise<number>

/** Of MIT Kerberos, as Debian's libgssapi-krb5-2 has it; RFC 2744 and `gssapi_ext.h`. Numbers are major statuses; 0 is success. */
export interface KerberosLibraries {
  readonly importName: (minor: Out<number>, name: Given, type: Oid, into: Out<Handle>) => number
  readonly releaseName: (minor: Out<number>, name: Out<Handle>) => number
  /** Waits for KDCs. */
  readonly acquireCredential: InThread<
    [
      Out<number>,
      Handle,
      number,
      { count: number; elements: readonly Oid[] },
      number,
      KeyValues,
      Out<Handle>,
      null,
      null,
    ]
  >
  readonly releaseCredential: (minor: Out<number>, credential: Out<Handle>) => number
  /** Waits for KDCs and name servers. */
  readonly initiate: InThread<
    [
      Out<number>,
      Handle,
      Out<Handle>,
      Handle,
      Oid,
      number,
      number,
      null,
      GivenBytes | null,
      null,
      Partial<Taken>,
      Out<number>,
      Out<number>,
    ]
  >
  readonly wrap: (
    minor: Out<number>,
    context: Handle,
    isConfidential: 0 | 1,
    protection: number,
    given: GivenBytes,
    wasConfidential: Out<number>,
    into: Partial<Taken>,
  ) => number
  readonly unwrap: (
    minor: Out<number>,
    context: Handle,
    given: GivenBytes,
    into: Partial<Taken>,
    wasConfidential: Out<number>,
    protection: Out<number>,
  ) => number
  readonly deleteContext: (minor: Out<number>, context: Out<Handle>, token: null) => number
  readonly displayStatus: (
    minor: Out<number>,
    status: number,
    kind: number,
    mechanism: Oid,
    next: Out<number>,
    text: Partial<Taken>,
  ) => number
  readonly releaseBuffer: (minor: Out<number>, buffer: Partial<Taken>) => number
  /** The bytes of a buffer, and gives it back. */
  readonly take: (buffer: Partial<Taken>) => Buffer
  readonly initContext: (into: Out<Handle>) => number
  readonly freeContext: (context: Handle) => void
  readonly getProfile: (context: Handle, into: Out<Handle>) => number
  readonly profileValues: (profile: Handle, names: readonly (string | null)[], into: Out<Handle>) => number
  readonly freeProfileValues: (values: Handle) => void
  readonly releaseProfile: (profile: Handle) => void
  /** First of the values that were given. */
  readonly firstValue: (values: Handle) => string
  readonly resolveCache: (context: Handle, name: string, into: Out<Handle>) => number
  readonly destroyCache: (context: Handle, cache: Handle) => number
  /** A file in memory alone, without a name. @returns its descriptor; -1 where there is none to be had */
  readonly memoryFile: (name: string, flags: number) => number
  /** Closes it: Node warns of a file that it closes and has not opened. */
  readonly closeFile: (descriptor: number) => number
}

let known: { readonly libraries: KerberosLibraries | undefined } | undefined

/** Undefined where one of them, or koffi, is missing. */
export function kerberosLibraries(): KerberosLibraries | undefined {
  known ??= { libraries: fromLibraries(loaded) }
  return known.libraries
}

function loaded({ load, struct, pointer, out, inout, decode }: typeof koffi): KerberosLibraries {
  const [gss, krb5, libc] = [load('libgssapi_krb5.so.2'), load('libkrb5.so.3'), load(null)]
  const [status, handle, minor] = ['uint32_t', 'void *', out(pointer('uint32_t'))]
  const [handleOut, handleInOut] = [out(pointer(handle)), inout(pointer(handle))]
  const given = struct({ length: 'size_t', value: 'const char *' })
  const givenBytes = pointer(struct({ length: 'size_t', value: 'void *' }))
  const flag = out(pointer('int'))
  const taken = struct({ length: 'size_t', value: 'void *' })
  const oid = struct({ length: 'uint32_t', elements: 'void *' })
  const oids = struct({ count: 'size_t', elements: pointer(oid) })
  const keyValue = struct({ key: 'const char *', value: 'const char *' })
  const keyValues = struct({ count: 'uint32_t', elements: pointer(keyValue) })
  const inThread =
    <A extends readonly unknown[]>(
      called: koffi.KoffiFunc<(...parameters: unknown[]) => number>,
    ): InThread<A> =>
    (...parameters) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      called.async(...parameters, (error: Error | null, result: number) =>
        error === null ? resolve(result) : reject(error),
      )
      return promise
    }
  const releaseBuffer = gss.func('gss_release_buffer', status, [minor, inout(pointer(taken))])
  const acquire = gss.func('gss_acquire_cred_from', status, [
    minor,
    handle,
    'uint32_t',
    pointer(oids),
    'int',
    pointer(keyValues),
    handleOut,
    handle,
    handle,
  ])
  const initiate = gss.func('gss_init_sec_context', status, [
    minor,
    handle,
    handleInOut,
    handle,
    pointer(oid),
    'uint32_t',
    'uint32_t',
    handle,
    givenBytes,
    handle,
    out(pointer(taken)),
    minor,
    minor,
  ])
  return {
    importName: gss.func('gss_import_name', status, [minor, pointer(given), pointer(oid), handleOut]),
    releaseName: gss.func('gss_release_name', status, [minor, handleInOut]),
    acquireCredential: inThread(acquire),
    releaseCredential: gss.func('gss_release_cred', status, [minor, handleInOut]),
    initiate: inThread(initiate),
    wrap: gss.func('gss_wrap', status, [
      minor,
      handle,
      'int',
      'uint32_t',
      givenBytes,
      flag,
      out(pointer(taken)),
    ]),
    unwrap: gss.func('gss_unwrap', status, [minor, handle, givenBytes, out(pointer(taken)), flag, minor]),
    deleteContext: gss.func('gss_delete_sec_context', status, [minor, handleInOut, handle]),
    displayStatus: gss.func('gss_display_status', status, [
      minor,
      'uint32_t',
      'int',
      pointer(oid),
      inout(pointer('uint32_t')),
      out(pointer(taken)),
    ]),
    releaseBuffer,
    take: (buffer) => {
      const { length = 0, value } = buffer
      if (length === 0) return Buffer.alloc(0)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- that is what the type asked for gives
      const bytes = Buffer.from(decode(value, 'uint8_t', length) as Uint8Array)
      releaseBuffer([0], buffer)
      return bytes
    },
    initContext: krb5.func('krb5_init_context', 'int32_t', [handleOut]),
    freeContext: krb5.func('krb5_free_context', 'void', [handle]),
    getProfile: krb5.func('krb5_get_profile', 'int32_t', [handle, handleOut]),
    profileValues: krb5.func('profile_get_values', 'long', [handle, pointer('const char *'), handleOut]),
    freeProfileValues: krb5.func('profile_free_list', 'void', [handle]),
    releaseProfile: krb5.func('profile_release', 'void', [handle]),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- that is what the type asked for gives
    firstValue: (values) => decode(values, 'char *') as string,
    resolveCache: krb5.func('krb5_cc_resolve', 'int32_t', [handle, 'const char *', handleOut]),
    destroyCache: krb5.func('krb5_cc_destroy', 'int32_t', [handle, handle]),
    memoryFile: libc.func('memfd_create', 'int', ['const char *', 'unsigned int']),
    closeFile: libc.func('close', 'int', ['int']),
  }
}
