import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import type { Person } from '../roles/people.ts'

/** What a token or the provider's page about a person says. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * The groups that a claim names: an array, or one group as a text. A dot leads into an object (`realm_access.roles`),
 * unless a claim has just this name. undefined when the claim is not there.
 */
export function groupsIn(claims: Claims, name: string): string[] | undefined {
  const value = claims[name] ?? name.split('.').reduce<unknown>(fieldOf, claims)
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((group) => typeof group === 'string') : undefined
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Claims)[name]
    : undefined

/**
 * The person of an ID token, or of an access token that says who somebody is. Groups are taken from the first that has
 * them: providers put them into the ID token, into the access token alone, or only on their page about the person.
 */
export function personOf(subject: string, sources: readonly Claims[], groupsClaim: string): Person {
  const first = (name: string) => sources.map((claims) => claims[name]).find(isText)
  return {
    source: 'oidc',
    subject,
    name: first('name') ?? first('preferred_username'),
    email: first('email'),
    groups:
      sources.map((claims) => groupsIn(claims, groupsClaim)).find((groups) => groups !== undefined) ?? [],
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxTextLength
