import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { errorOf, GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'

/**
 * Calls what needs no token, over REST: the broker lets nobody in without one.
 * @param contract its first route takes all of its input from the body
 * @throws GantryError
 */
export async function callPublic<C extends Contract>(
  platformUrl: string,
  { http: [route] }: C,
  input: Input<C>,
): Promise<Output<C>> {
  const reply = await post(new URL(route!.path, platformUrl), JSON.stringify(input))
  const body: unknown = await reply.json().catch(() => undefined)
  if (!reply.ok)
    throw errorOf(
      body,
      `${platformUrl} returned status ${reply.status}: check that it is the address of the platform`,
    )
  return body as Output<C>
}

async function post(url: URL, body: string): Promise<Response> {
  try {
    return await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  } catch (cause) {
    const text = `${url.origin} does not respond: start the platform with "${product} up", or give the address of another platform`
    throw new GantryError('UNAVAILABLE', text, { cause })
  }
}
