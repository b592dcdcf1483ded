/** Nothing is loaded and nothing runs; the page's own style is all there is. */
export const plainPagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

/**
 * A page of few words, without script.
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
body { font-family: system-ui, sans-serif; max-width: 26rem; margin: 4rem auto; padding: 0 1rem; line-height: 1.4 }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit }
input, button { margin: .25rem 0 1rem; padding: .5rem }
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
