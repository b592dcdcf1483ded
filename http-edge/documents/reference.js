/* global SwaggerUIBundle, document, fetch, location, sessionStorage, URL */

/** Starts the reference of a server: Swagger UI, with a search for operations, and a token that lasts as long as its tab. */
const element = document.querySelector('#reference')
/** What anybody may read, and, where the server has it, the same with the extensions that the caller sees. */
const { all, seen } = element.dataset

const storageKey = 'gantry-reference-authorization'
const saved = () => JSON.parse(sessionStorage.getItem(storageKey) ?? '{}')
const save = (authorization) => sessionStorage.setItem(storageKey, JSON.stringify(authorization))

const tokenOf = ({ token }) => (token === undefined ? undefined : (token.value ?? undefined))

/** An operation is found by words of its tag, method, path, id and summary: all of them, in any order. */
const found = (phrase) => {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean)
  return (...texts) => {
    const text = texts.join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

const search = {
  fn: {
    opsFilter: (tags, phrase) => {
      const fits = found(phrase)
      return tags
        .map((tag, name) =>
          tag.update('operations', (operations) =>
            operations.filter((one) => {
              const [id, summary] = ['operationId', 'summary'].map((key) => one.getIn(['operation', key], ''))
              return fits(name, one.get('method'), one.get('path'), id, summary)
            }),
          ),
        )
        .filter((tag) => tag.get('operations').size > 0)
    },
  },
}

/** Notes each sign-in of the page for its reloads, and shows what this caller sees. */
const remembering = {
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original, system) => (authorization) => {
          const result = original(authorization)
          save({ ...saved(), ...authorization })
          void show(system)
          return result
        },
        logout: (original, system) => (names) => {
          const result = original(names)
          save(Object.fromEntries(Object.entries(saved()).filter(([name]) => !names.includes(name))))
          void show(system)
          return result
        },
      },
    },
  },
}

/** Of a token that is refused, what anybody may read: without a document there would be no place to give another one. */
async function addressOf() {
  const token = tokenOf(saved())
  if (seen === undefined || token === undefined) return all
  const answer = await fetch(seen, { headers: { Authorization: `Bearer ${token}` } }).catch(() => undefined)
  return answer?.ok === true ? seen : all
}

/** Loads the other document where a sign-in or sign-out asks for it. */
async function show({ specSelectors, specActions }) {
  const address = await addressOf()
  if (specSelectors.url() === address) return
  specActions.updateUrl(address)
  specActions.download(address)
}

let restored = false
const ui = SwaggerUIBundle({
  url: await addressOf(),
  domNode: element,
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  plugins: [search, remembering],
  requestInterceptor: (request) => {
    const token = tokenOf(saved())
    const isSeen = seen !== undefined && new URL(request.url, location).href === new URL(seen, location).href
    if (request.loadSpec && token !== undefined && isSeen)
      request.headers['Authorization'] = `Bearer ${token}`
    return request
  },
  onComplete: () => {
    // A document that was loaded meanwhile comes here again.
    if (restored) return
    restored = true
    const authorization = saved()
    if (Object.keys(authorization).length > 0) ui.authActions.authorize(authorization)
  },
})
