/** Nothing is loaded and nothing runs; the page's own style is all there is. */
export const plainPagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

const anyScheme = ':root { color-scheme: light dark }'

/** A plain page in the colours that somebody has chosen, and otherwise in those of the system. */
export const inScheme = (page: string, scheme: string | undefined): string =>
  scheme === 'light' || scheme === 'dark'
    ? page.replace(anyScheme, `:root { color-scheme: ${scheme} }`)
    : page

/**
 * A page of few words, without script, in the colours of the web interface.
 * @param content HTML
 * @param refreshTo where the browser goes on to by itself
 */
export const plainPage = (heading: string, content: string, refreshTo?: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refreshTo === undefined ? '' : `<meta http-equiv="refresh" content="0; url=${escapeHtml(refreshTo)}">\n`}<title>${escapeHtml(heading)}</title>
<style>
${anyScheme}
body { background: light-dark(#fff, #242424); color: light-dark(#000, #c9c9c9); font-family: system-ui, sans-serif; max-width: 26rem; margin: 4rem auto; padding: 0 1rem; line-height: 1.4 }
a { color: light-dark(#1864ab, #74c0fc) }
label, input, button, a.button { display: block; width: 100%; box-sizing: border-box; font: inherit }
input, button, a.button { margin: .25rem 0 1rem; padding: .5rem; border: 1px solid light-dark(#868e96, #828282); border-radius: .25rem }
input { background: light-dark(#fff, #2e2e2e); color: inherit }
button, a.button { border-color: #1971c2; background: #1971c2; color: #fff; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer }
.notice { border-left: .3rem solid #c60; padding-left: .7rem }
</style>
</head>
<body>
<main>
<h1>${escapeHtml(heading)}</h1>
${content}
</main>
</body>
</html>
`

/** A page that only says something. */
export const messagePage = (heading: string, message: string): string =>
  plainPage(heading, `<p>${escapeHtml(message)}</p>`)
