import type { CookieBrowser, Visited } from './cookie-browser.ts'

export const clients = {
  cli: 'gantry-cli',
  ui: { id: 'gantry-ui', secret: 'of-the-pages-of-the-platform' },
  /** An application beside ours. */
  other: 'another-application',
}
export const people = {
  ada: { username: 'ada', password: 'of-ada', group: 'migration-viewers' },
  eve: { username: 'eve', password: 'of-eve', group: 'others' },
} as const
export type PersonName = keyof typeof people

/** Groups by their plain names, in each token and on the page about the person. */
const groupsMapper = {
  name: 'groups',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: {
    'claim.name': 'groups',
    'full.path': 'false',
    'id.token.claim': 'true',
    'access.token.claim': 'true',
    'userinfo.token.claim': 'true',
  },
}
const withPkce = { 'pkce.code.challenge.method': 'S256' }

/** What an administrator of Keycloak enters for a platform, as our documentation says it. */
export const realmFor = (realm: string, publicUrl: string) => ({
  realm,
  enabled: true,
  clients: [
    {
      clientId: clients.cli,
      publicClient: true,
      redirectUris: ['http://127.0.0.1/callback'],
      // So that a test has tokens without a page.
      directAccessGrantsEnabled: true,
      attributes: { ...withPkce, 'oauth2.device.authorization.grant.enabled': 'true' },
      protocolMappers: [groupsMapper],
    },
    {
      clientId: clients.ui.id,
      secret: clients.ui.secret,
      redirectUris: [`${publicUrl}/login/callback`],
      attributes: withPkce,
      protocolMappers: [groupsMapper],
    },
    { clientId: clients.other, publicClient: true, directAccessGrantsEnabled: true },
  ],
  groups: Object.values(people).map(({ group: name }) => ({ name })),
  users: Object.values(people).map(({ username, password, group }) => ({
    username,
    enabled: true,
    email: `${username}@example.org`,
    emailVerified: true,
    firstName: username,
    lastName: 'Example',
    groups: [group],
    credentials: [{ type: 'password', value: password, temporary: false }],
  })),
})

/** Sends the form of one of Keycloak's pages. */
export function submitForm(
  browser: CookieBrowser,
  { text, url, status }: Visited,
  fields: object,
  until?: string,
): Promise<Visited> {
  const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? []
  if (action === undefined) throw new Error(`no form at ${url.pathname}: ${status} ${text}`)
  const hidden = [...text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
    attribute(input, 'name'),
    attribute(input, 'value'),
  ])
  return browser.open(new URL(action.replaceAll('&amp;', '&'), url), {
    form: { ...Object.fromEntries(hidden), ...fields },
    ...(until === undefined ? {} : { until }),
  })
}

const attribute = (input: string, name: string): string =>
  new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? ''

/** Opens an address that leads to Keycloak's page, and signs in there. */
export async function signInAtKeycloak(
  browser: CookieBrowser,
  address: string,
  name: PersonName,
  until?: string,
): Promise<Visited> {
  const { username, password } = people[name]
  return submitForm(browser, await browser.open(address), { username, password }, until)
}
