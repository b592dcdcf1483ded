import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig, type OidcConfig } from '../../config/platform.ts'
import { loadListenOptions } from '../../http-edge/properties.ts'
import { createAccounts, type Passwords, writeAccounts } from '../../config/development-accounts.ts'
import {
  type DevelopmentProvider,
  startDevelopmentProvider,
} from '../../services/access/development-provider/index.ts'
import type { SigningKey } from '../../services/access/development-provider/provider.ts'
import { files } from '../../subjects/kit/names.ts'
import { freePort, testLog } from './platform.ts'

export const algorithms = ['ES256', 'RS256', 'EdDSA'] as const
export type Algorithm = (typeof algorithms)[number]

/** What a token says beside its claims. */
export interface TokenShape {
  readonly algorithm?: Algorithm
  readonly type?: string
  /** Another key than that of the provider, under its id. */
  readonly key?: CryptoKey
}

/** Where browsers will reach the platform of a configuration folder. */
export function publicUrlOf(home: string): string {
  const { host, port } = loadListenOptions(home, 'platform')
  return `http://${host}:${port}`
}

/** A real provider whose keys the test has too, so that it can make any token. It can be stopped and started again. */
export class TestProvider implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), 'gantry-provider-'))
  readonly publicUrl: string
  readonly passwords: Passwords
  #keys: Keys
  #running: DevelopmentProvider | undefined

  private constructor(publicUrl: string, passwords: Passwords, keys: Keys) {
    this.publicUrl = publicUrl
    this.passwords = passwords
    this.#keys = keys
  }

  get config(): OidcConfig {
    if (this.#running === undefined) throw new Error('the provider is down')
    return this.#running.config
  }

  /** A provider for the platform of this configuration folder, which is told of it. */
  static async forHome(home: string, fields: object = {}): Promise<TestProvider> {
    const { stored, passwords } = await createAccounts()
    const provider = new TestProvider(publicUrlOf(home), passwords, await createKeys())
    // A port of its own, so that it can come back to it.
    writeAccounts(provider.home, { ...stored, port: await freePort() })
    await provider.start()
    const { issuer, clientId, uiClientId } = provider.config
    await configure(home, {
      'oidc.issuer': issuer,
      'oidc.clientid': clientId,
      'oidc.uiclientid': uiClientId,
      ...fields,
    })
    return provider
  }

  async start(): Promise<void> {
    this.#running = await startDevelopmentProvider({
      home: this.home,
      publicUrl: this.publicUrl,
      log: testLog,
      onFirstStart: () => Promise.resolve(),
      onWrong: () => undefined,
      keys: algorithms.map((name) => this.#keys[name].jwk),
    })
  }

  /** What a provider does now and then. */
  async rotateKeys(): Promise<void> {
    await this.stop()
    this.#keys = await createKeys()
    await this.start()
  }

  /** It knows of nobody any more who has signed in. */
  async forgetEverybody(): Promise<void> {
    await this.stop()
    await this.start()
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
  }

  /** A token such as the provider makes, with these claims instead of its own; one that is undefined is left out. */
  async token(claims: JWTPayload = {}, { algorithm = 'ES256', type, key }: TokenShape = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1_000)
    const { kid } = this.#keys[algorithm].jwk
    const { issuer, clientId } = this.config
    const own = { iss: issuer, aud: clientId, sub: 'ada', iat: now, exp: now + 300 }
    const given = Object.entries({ ...own, ...claims }).filter(([, value]) => value !== undefined)
    return new SignJWT(Object.fromEntries(given))
      .setProtectedHeader({ alg: algorithm, kid: kid!, ...(type === undefined ? {} : { typ: type }) })
      .sign(key ?? this.#keys[algorithm].key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    rmSync(this.home, { recursive: true, force: true })
  }
}

type Keys = Record<Algorithm, { readonly key: CryptoKey; readonly jwk: SigningKey }>

async function createKeys(): Promise<Keys> {
  const generation = randomUUID()
  const made = algorithms.map(async (alg) => {
    const { privateKey: key } = await generateKeyPair(alg, { extractable: true })
    return [
      alg,
      { key, jwk: { ...(await exportJWK(key)), alg, use: 'sig', kid: `${alg}-${generation}` } },
    ] as const
  })
  // Object.fromEntries forgets the keys.
  return Object.fromEntries(await Promise.all(made)) as unknown as Keys
}

/** Sets fields of a folder's `gantry.config`, which is made when it is not there; one that is undefined is taken out. */
export async function configure(home: string, fields: object): Promise<void> {
  await loadPlatformConfig(home, loadMessagingConfig(home), testLog)
  const path = join(home, files.config)
  const config = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...config, ...fields }))
}
