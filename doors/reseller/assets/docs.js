// Draws the OpenAPI document of this server, and sends what is tried to this server.
// What stands in the document or in an answer becomes text nodes, never markup. The token lives in a
// variable of this module: reloading the page, or logging out, forgets it.

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];
const PLACES = { path: 'Path', query: 'Query', header: 'Header', cookie: 'Cookie' };
// HTTP/2 has no reason phrases, and a success often has no description.
const REASONS = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No content', 208: 'Already reported', 400: 'Bad request',
  401: 'Unauthorized', 403: 'Forbidden', 404: 'Not found', 409: 'Conflict', 410: 'Gone', 422: 'Unprocessable content',
  429: 'Too many requests', 500: 'Internal server error', 503: 'Service unavailable', default: 'Any other status' };
const SAMPLES = { 'date-time': '2027-01-31T12:00:00Z', date: '2027-01-31', email: 'admin@example.com', uri: 'https://example.com/' };
const SHOWN_CHARACTERS = 300_000;
const NOBODY = { token: null, who: '', scopes: null, expires: null };

const $ = (id) => document.getElementById(id);
const documentUrl = new URL('openapi.json', location.href);
const views = new Map(); // address → { element, title, refresh }: what was typed stays while one looks elsewhere
let auth = NOBODY;
let tokenInCurl = false;
let api, base, operations, linkable;

// ---- Building elements ----

function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const code = (value) => h('code', null, typeof value === 'string' ? value : JSON.stringify(value));
const badge = (method) => h('span', { class: `method ${method}` }, method.toUpperCase());
const pathText = (path) => h('span', { class: 'path' }, path.split(/(\{[^}]*\})/).map((part) => (part[0] === '{' ? h('em', null, part) : part)));
const toSchema = (name) => `#schema-${encodeURIComponent(name)}`;
const toOperation = ({ id }) => `#${encodeURIComponent(id)}`;
const section = (title, ...content) => h('section', null, h('h2', null, title), content);

// Markdown, as far as descriptions use it: paragraphs, lists, `code`, **strong**, links.
function markdown(text) {
  return (text ?? '').split(/\n\s*\n/).filter((block) => block.trim()).map((block) => {
    const lines = block.trim().split('\n');
    if (!lines.every((line) => /^\s*[-*] /.test(line))) return h('p', null, inline(block.trim()));
    return h('ul', { class: 'bullets' }, lines.map((line) => h('li', null, inline(line.replace(/^\s*[-*] /, '')))));
  });
}

function inline(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>()]*[\w/])/g)) {
    const [all, literal, strong, label, target, bare] = found;
    nodes.push(text.slice(from, found.index));
    from = found.index + all.length;
    if (literal) nodes.push(linkable.has(literal) ? h('a', { href: linkable.get(literal) }, code(literal)) : code(literal));
    else if (strong) nodes.push(h('strong', null, strong));
    else if (!/^(https?:|mailto:|#|\/(?!\/))/.test(target ?? bare)) nodes.push(all);
    else nodes.push(h('a', { href: target ?? bare, rel: 'noreferrer' }, label ?? bare));
  }
  return [...nodes, text.slice(from)];
}

// Lays JSON out anew without reading its numbers: an integer past 2^53 has to stay what the server sent.
function pretty(text) {
  const nodes = [];
  let indent = '\n';
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  tokens.forEach((token, index) => {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if (token === '{' || token === '[') {
      indent += '  ';
      nodes.push(token, after === '}' || after === ']' ? '' : indent);
    } else if (token === '}' || token === ']') {
      indent = indent.slice(0, -2);
      nodes.push(before === '{' || before === '[' ? '' : indent, token);
    } else if (token === ',' || token === ':') nodes.push(token, token === ',' ? indent : ' ');
    else nodes.push(h('span', { class: token[0] !== '"' ? 'j-other' : after === ':' ? 'j-name' : 'j-text' }, token));
  });
  return nodes;
}

const json = (value) => JSON.stringify(value, null, 2);
const isJson = (text) => { try { JSON.parse(text); return true; } catch { return false; } };

function block(label, content, { extra, whole } = {}) {
  const pre = h('pre', { tabindex: 0, role: 'region', 'aria-label': label }, content);
  const copy = h('button', { type: 'button', class: 'quiet', 'aria-label': `Copy ${label}`, onclick: () => copyFrom(copy, whole ?? pre.textContent, pre) }, 'Copy');
  return h('div', { class: 'block' }, h('div', { class: 'block-head' }, h('span', null, label), extra, copy), pre);
}

async function copyFrom(button, text, shown) {
  const was = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    // No clipboard without HTTPS: what is shown is selected for the keyboard instead.
    if (shown) getSelection().selectAllChildren(shown);
    button.textContent = shown ? 'Selected' : 'Not allowed';
  }
  setTimeout(() => { button.textContent = was; }, 1600);
}

// ---- Reading the document ----

function at(reference) {
  const steps = reference.split('/').slice(1).map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return reference.startsWith('#/') ? steps.reduce((place, step) => place?.[step], api) : undefined;
}

// Follows `$ref`; what stands beside it (a description, in 3.1) wins over what it leads to.
function look(thing) {
  let seen = thing && thing !== true ? thing : {};
  for (let hops = 0; seen.$ref && hops < 16; hops += 1) {
    const { $ref, ...beside } = seen;
    seen = { ...(at($ref) ?? { missing: $ref }), ...beside };
  }
  return seen;
}

// The schema with its `allOf` laid together.
function whole(schema, depth = 0) {
  const { allOf, ...own } = look(schema);
  if (!allOf || depth > 8) return own;
  return [...allOf.map((part) => whole(part, depth + 1)), own].reduce((sum, part) => ({
    ...sum, ...part, properties: { ...sum.properties, ...part.properties }, required: [...(sum.required ?? []), ...(part.required ?? [])],
  }), {});
}

const refName = (schema) => schema?.$ref?.match(/^#\/components\/schemas\/([^/]+)$/)?.[1];
const types = (schema) => [schema.type ?? []].flat();
const variants = (schema) => schema.oneOf ?? schema.anyOf ?? [];
const choices = (schema) => variants(schema).filter((choice) => look(choice).type !== 'null');
const isNullable = (schema) => schema.nullable || types(schema).includes('null') || choices(schema).length < variants(schema).length;
const isMap = (schema) => typeof schema.additionalProperties === 'object' && !Object.keys(schema.properties ?? {}).length;

// What a list or a map is made of, however deep.
function core(schema) {
  let inner = schema;
  for (let hops = 0, seen = whole(inner); hops < 16 && (seen.items || isMap(seen)); hops += 1, seen = whole(inner)) inner = seen.items ?? seen.additionalProperties;
  return inner;
}

// `array of Account or null`, the names linked.
function typeLabel(schema) {
  const name = refName(schema);
  if (name) return h('a', { href: toSchema(name) }, name);
  const seen = look(schema);
  const orNull = isNullable(seen) && ' or null';
  if (choices(seen).length) return [choices(seen).map((choice, index) => [index > 0 && ' or ', typeLabel(choice)]), orNull];
  if (seen.allOf?.length === 1) return [typeLabel(seen.allOf[0]), orNull];
  const named = types(seen).filter((type) => type !== 'null');
  if (named.includes('array')) return ['array of ', typeLabel(seen.items), orNull];
  if (isMap(seen)) return ['map of ', typeLabel(seen.additionalProperties), orNull];
  const shown = named.join(' or ') || (seen.properties || seen.allOf ? 'object' : seen.enum ? 'one of a list' : 'anything');
  return [shown, seen.format && ` (${seen.format})`, orNull];
}

function range(low, high, unit) {
  if (low === undefined && high === undefined) return null;
  return low === undefined ? `at most ${high}${unit}` : high === undefined ? `at least ${low}${unit}` : `${low === high ? low : `${low} to ${high}`}${unit}`;
}

// What a schema says of its values beyond their type.
function facts(schema, parameterExample) {
  const seen = look(schema);
  const listed = (types(seen).includes('array') ? look(seen.items) : seen).enum;
  const example = parameterExample ?? seen.example ?? [seen.examples ?? []].flat()[0];
  const notes = [
    listed && ['One of ', listed.map((value, index) => [index > 0 && ', ', code(value)])],
    'const' in seen && ['Always ', code(seen.const)],
    range(seen.minLength, seen.maxLength, ' characters'),
    range(seen.minimum ?? seen.exclusiveMinimum, seen.maximum ?? seen.exclusiveMaximum, ''),
    range(seen.minItems, seen.maxItems, ' items'),
    seen.pattern && ['Matches ', code(seen.pattern)],
    (seen.default ?? null) !== null && ['Default ', code(seen.default)],
    example !== undefined && ['Example ', code(example)],
    seen.readOnly && 'read only', seen.writeOnly && 'write only',
  ].filter(Boolean);
  return notes.length > 0 && h('ul', { class: 'facts' }, notes.map((note) => h('li', null, note)));
}

const table = (caption, rows) => h('table', { class: 'fields' }, h('caption', { class: 'unseen' }, caption),
  h('thead', null, h('tr', null, ['Name', 'Meaning'].map((title) => h('th', { scope: 'col' }, h('span', { class: 'unseen' }, title))))), h('tbody', null, rows));

function row(name, schema, { required, deprecated, description, example }) {
  const more = deeper(schema);
  return [h('tr', null,
    h('th', { scope: 'row' }, code(name), deprecated && h('span', { class: 'tag' }, 'deprecated'),
      h('div', { class: 'type' }, typeLabel(schema), required && h('span', { class: 'required' }, ' · required'))),
    h('td', null, markdown(description), facts(schema, example))), more && h('tr', { class: 'more' }, h('td', { colspan: 2 }, more))];
}

// The members of a schema as a table. What lies deeper is drawn when it is opened, so schemas may be recursive.
function shape(schema, label) {
  const seen = whole(core(schema));
  if (seen.missing) return [h('p', { class: 'note' }, 'The document does not describe ', code(seen.missing), '.')];
  const members = Object.entries(seen.properties ?? {}).map(([name, member]) => ({ name, member, required: seen.required?.includes(name) }));
  members.sort((one, other) => Number(other.required ?? 0) - Number(one.required ?? 0));
  return [
    members.length ? table(`Members of ${label}`, members.map(({ name, member, required }) => row(name, member, { ...look(member), example: undefined, required }))) : [],
    choices(seen).map((choice) => h('div', { class: 'choice' }, h('p', { class: 'type' }, typeLabel(choice)), markdown(look(choice).description), facts(choice), deeper(choice))),
  ].flat();
}

function deeper(schema) {
  const inner = core(schema);
  const label = refName(inner) ?? 'it';
  const hasMembers = (one, depth) => Object.keys(whole(one).properties ?? {}).length > 0 || (depth < 4 && choices(whole(one)).some((choice) => hasMembers(core(choice), depth + 1)));
  if (!hasMembers(inner, 0)) return null;
  const details = h('details', { class: 'deeper', ontoggle: () => { if (details.children.length === 1) details.append(...shape(inner, label)); } },
    h('summary', null, `Members of ${label}`));
  return details;
}

// A value that the schema allows. It holds what is required or has an example, unless `all` is asked for.
function sample(schema, way, all, trail = []) {
  const name = refName(schema);
  if (name && trail.includes(name)) return undefined;
  const path = name ? [...trail, name] : trail;
  const seen = whole(schema);
  const given = [seen.example, ...[seen.examples ?? []].flat(), seen.const, seen.default, seen.enum?.[0]].find((value) => (value ?? null) !== null);
  if (given !== undefined) return given;
  if (choices(seen).length) return sample(choices(seen)[0], way, all, path);
  const type = types(seen).find((one) => one !== 'null') ?? (seen.properties ? 'object' : 'string');
  if (type === 'array') return [sample(seen.items, way, all, path)].filter((item) => item !== undefined);
  if (type !== 'object') return { boolean: true, integer: seen.minimum ?? 1, number: seen.minimum ?? 1 }[type] ?? SAMPLES[seen.format] ?? 'string';
  if (isMap(seen)) return { name: sample(seen.additionalProperties, way, all, path) };
  return Object.fromEntries(Object.entries(seen.properties ?? {}).filter(([key, member]) => {
    const { readOnly, writeOnly, example } = look(member);
    return !(way === 'request' ? readOnly : writeOnly) && (all || seen.required?.includes(key) || example !== undefined);
  }).map(([key, member]) => [key, sample(member, way, all, path)]));
}

function mediaSample(media, way, all) {
  const given = media.example ?? look(Object.values(media.examples ?? {})[0]).value;
  let value = given === undefined || (way === 'request' && all) ? sample(media.schema, way, all) : given;
  if (json(value) === '{}') value = sample(media.schema, way, true);
  return typeof value === 'string' ? value : json(value ?? null);
}

function readOperations() {
  return Object.entries(api.paths ?? {}).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => {
    const operation = item[method];
    const parameters = new Map([...(item.parameters ?? []), ...(operation.parameters ?? [])].map(look)
      // The specification has these three ignored where they stand as parameters.
      .filter((one) => one.in !== 'header' || !/^(accept|content-type|authorization)$/i.test(one.name))
      .map((one) => [`${one.in} ${one.name}`, one]));
    const needs = (operation.security ?? api.security ?? []).map((one) => Object.entries(one)).filter((one) => one.length);
    return { ...operation, method, path, parameters: [...parameters.values()], needs, id: operation.operationId ?? `${method}${path.replace(/\W+/g, '-')}`,
      tag: operation.tags?.[0] ?? 'Other', title: operation.summary ?? `${method.toUpperCase()} ${path}` };
  }));
}

function tags() {
  const named = new Map((api.tags ?? []).map((tag) => [tag.name, tag.description]));
  for (const { tag } of operations) if (!named.has(tag)) named.set(tag, '');
  return [...named].map(([name, description]) => ({ name, description, list: operations.filter(({ tag }) => tag === name) })).filter(({ list }) => list.length);
}

// ---- Views ----

function overview() {
  const flows = Object.values(api.components?.securitySchemes ?? {}).flatMap((scheme) => Object.values(scheme.flows ?? {}));
  const scopes = Object.entries(Object.assign({}, ...flows.map((flow) => flow.scopes)));
  const entry = (one) => h('li', null, h('a', { href: toOperation(one), class: one.deprecated && 'old' }, badge(one.method), pathText(one.path), h('span', { class: 'summary' }, one.title)));
  const element = h('div', { class: 'overview' }, h('h1', { tabindex: -1 }, api.info.title), h('div', { class: 'lead' }, markdown(api.info.description)),
    h('p', { class: 'where' }, 'Base URL ', code(base)),
    tags().map(({ name, description, list }) => section(name, markdown(description), h('ul', { class: 'index' }, list.map(entry)))),
    scopes.length > 0 && section('Scopes', table('Scopes', scopes.map(([name, meaning]) => h('tr', null, h('th', { scope: 'row' }, code(name)), h('td', null, markdown(meaning)))))));
  return { element, title: api.info.title };
}

function schemaView(name) {
  const schema = api.components.schemas[name];
  const uses = (thing) => JSON.stringify(thing).includes(`"#/components/schemas/${name}"`);
  const users = operations.filter(uses).map((one) => h('li', null, badge(one.method), ' ', h('a', { href: toOperation(one) }, one.title)));
  const around = Object.entries(api.components.schemas).filter(([, one]) => uses(one)).map(([one]) => h('li', null, h('a', { href: toSchema(one) }, one)));
  const structure = shape(schema, name);
  const element = h('div', null, h('p', { class: 'crumb' }, 'Schema'), h('h1', { tabindex: -1 }, name), h('div', { class: 'lead' }, markdown(schema.description)),
    h('div', { class: 'split' },
      h('div', { class: 'ask' }, section('Structure', structure.length ? structure : h('p', { class: 'type' }, typeLabel(schema)), facts(schema))),
      h('div', { class: 'try' }, block('Example', pretty(json(sample(schema, 'response', true) ?? null)))),
      h('div', { class: 'answers' }, users.length + around.length > 0 && section('Used by', h('ul', { class: 'users' }, around, users)))));
  return { element, title: name };
}

function operationView(operation) {
  const scopes = h('div', { class: 'scopes' });
  const body = look(operation.requestBody);
  const attempt = tryIt(operation, body);
  const places = Object.entries(PLACES).map(([place, label]) => [`${label} parameters`, operation.parameters.filter((one) => one.in === place)]);
  const element = h('article', null,
    h('p', { class: 'crumb' }, operation.tag, operation.deprecated && h('span', { class: 'tag' }, 'deprecated')), h('h1', { tabindex: -1 }, operation.title),
    h('p', { class: 'address' }, badge(operation.method), pathText(operation.path)), h('div', { class: 'lead' }, markdown(operation.description)), scopes,
    h('div', { class: 'split' },
      h('div', { class: 'ask' },
        places.map(([title, list]) => list.length > 0 && section(title, table(title, list.map((one) => row(one.name, one.schema, one))))),
        body.content && section(['Request body', h('small', null, body.required ? ' required' : ' optional')], markdown(body.description),
          Object.entries(body.content).map(([type, media]) => [h('p', { class: 'type' }, code(type), ' ', typeLabel(media.schema)),
            markdown(look(media.schema).description), shape(media.schema, 'the request body')]))),
      attempt.element,
      h('div', { class: 'answers' }, section('Responses', Object.entries(operation.responses ?? {}).map(responseView)))));
  const refresh = () => { scopes.replaceChildren(...scopeNodes(operation)); attempt.refresh(); };
  refresh();
  return { element, title: operation.title, refresh };
}

function scopeNodes({ needs }) {
  if (!needs.length) return [h('span', { class: 'label' }, 'Needs no login')];
  return needs.flatMap((all, index) => [h('span', { class: 'label' }, index ? 'or' : 'Needs'), ...all.flatMap(([scheme, names]) => (names.length ? names : [scheme]).map((name) => {
    const state = auth.scopes && names.length ? (auth.scopes.has(name) ? 'held' : 'lacking') : '';
    return h('span', { class: `scope ${state}` }, code(name), state && h('span', { class: 'state' }, state === 'held' ? ' ✓' : ' not in your token'));
  }))]);
}

function responseView([status, given]) {
  const response = look(given);
  const media = Object.entries(response.content ?? {});
  const headers = Object.entries(response.headers ?? {}).map(([name, header]) => [name, look(header)]);
  const head = [h('span', { class: `status s${status[0]}` }, status), h('span', { class: 'meaning' }, inline(response.description || REASONS[status] || ''))];
  if (!media.length && !headers.length) return h('div', { class: 'response bare' }, head);
  const details = h('details', { class: 'response', ontoggle: () => {
    if (details.children.length > 1) return;
    if (headers.length) details.append(table('Headers', headers.map(([name, header]) => row(name, header.schema, header))));
    for (const [type, one] of media) {
      details.append(h('p', { class: 'type' }, code(type), ' ', typeLabel(one.schema)), ...shape(one.schema, `the ${status} response`));
      if (/json/.test(type) && !look(one.schema).missing) details.append(block(`Example of ${status}`, pretty(mediaSample(one, 'response', true))));
    }
  } }, h('summary', null, head));
  return details;
}

// ---- Trying an operation ----

function field(parameter, prefix) {
  const schema = look(parameter.schema);
  const known = schema.enum ?? (types(schema).includes('boolean') ? [true, false] : null);
  const hint = parameter.example ?? schema.example ?? schema.default;
  const id = `${prefix}-${parameter.in}-${parameter.name}`;
  const properties = { id, required: parameter.required, 'aria-describedby': `${id}-note` };
  const input = known
    ? h('select', properties, h('option', { value: '' }, '—'), known.map((value) => h('option', null, String(value))))
    : h('input', { ...properties, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', placeholder: hint === undefined ? null : `such as ${hint}` });
  const element = h('div', { class: 'field' },
    h('label', { for: id }, code(parameter.name), h('span', { class: 'type' }, ` ${parameter.in}`), parameter.required && h('span', { class: 'required' }, ' · required')),
    input, h('div', { class: 'unseen', id: `${id}-note` }, (parameter.description ?? '').replaceAll('`', '')));
  return { parameter, input, element };
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const loginLink = (text) => h('button', { type: 'button', class: 'link', onclick: openDialog }, text);
const trouble = (title, ...words) => h('div', { class: 'trouble' }, h('strong', null, title), h('p', null, words));

function tryIt(operation, requestBody) {
  const method = operation.method.toUpperCase();
  const fields = operation.parameters.filter((one) => one.in !== 'cookie').map((one) => field(one, operation.id));
  const media = Object.entries(requestBody.content ?? {});
  const successes = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2')).map(([, one]) => look(one));
  const pick = (label, list, onchange) => list.length > 1 && h('select', { 'aria-label': label, onchange }, list.map((one) => h('option', null, one)));
  const bodyType = pick('Media type of the request body', media.map(([type]) => type), () => fill(false));
  const accept = pick('Media type of the answer', [...new Set(successes.flatMap((one) => Object.keys(one.content ?? {})))]);
  const editor = media.length > 0 && h('textarea', { id: `${operation.id}-body`, spellcheck: 'false', autocapitalize: 'off' });
  const withToken = h('input', { type: 'checkbox', onchange: () => { tokenInCurl = withToken.checked; refresh(); } });
  const curl = block('curl', '', { extra: h('label', { class: 'check' }, withToken, 'with my token') });
  const [doubt, outcome] = [h('p', { class: 'doubt', role: 'status' }), h('p', { class: 'result', role: 'status' })];
  const [hint, answer] = [h('p', { class: 'hint' }), h('div', { class: 'answer' })];
  const send = h('button', { class: `send ${operation.method}`, type: 'submit' }, `Send ${method}`);
  let running = null;

  const chosen = () => media.find(([type]) => type === bodyType?.value) ?? media[0];
  const fill = (all) => {
    editor.value = mediaSample(chosen()[1], 'request', all);
    editor.rows = Math.min(18, editor.value.split('\n').length + 1);
    refresh();
  };
  const request = (token) => {
    let path = operation.path;
    const query = new URLSearchParams();
    const headers = token && operation.needs.length ? [['Authorization', `Bearer ${token}`]] : [];
    for (const { parameter, input } of fields) {
      const value = input.value.trim();
      if (!value) continue;
      if (parameter.in === 'path') path = path.replaceAll(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === 'header') headers.push([parameter.name, value]);
      else for (const one of types(look(parameter.schema)).includes('array') ? value.split(/\s*,\s*/) : [value]) query.append(parameter.name, one);
    }
    const body = editor && editor.value.trim() ? editor.value : undefined;
    if (accept) headers.push(['Accept', accept.value]);
    if (body) headers.push(['Content-Type', chosen()[0]]);
    return { method, url: `${base}${path}${query.size ? `?${query}` : ''}`, headers, body };
  };
  const refresh = () => {
    const { url, headers, body } = request(tokenInCurl && auth.token ? auth.token : '$TOKEN');
    const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`,
      ...headers.map(([name, value]) => `-H ${value === 'Bearer $TOKEN' ? `"${name}: ${value}"` : quote(`${name}: ${value}`)}`)];
    if (body) lines.push(`--data-raw ${quote(body)}`);
    curl.querySelector('pre').textContent = lines.join(' \\\n  ');
    withToken.checked = tokenInCurl;
    withToken.disabled = auth.token === null;
    doubt.textContent = body && /json/.test(chosen()[0]) && !isJson(body) ? 'This is not valid JSON; it is sent as it stands.' : '';
    hint.replaceChildren(...(operation.needs.length && auth.token === null ? ['Needs a token: ', loginLink('log in'), ' first.'] : []));
  };
  const submit = async (event) => {
    event.preventDefault();
    if (running) return running.abort();
    running = new AbortController();
    send.textContent = 'Cancel';
    outcome.replaceChildren('Waiting for the answer…');
    answer.replaceChildren();
    const { line, parts } = await exchange(operation, request(auth.token), running.signal);
    running = null;
    send.textContent = `Send ${method}`;
    outcome.replaceChildren(...line);
    answer.replaceChildren(...parts);
    outcome.scrollIntoView({ block: 'nearest' });
  };
  const filler = (text, all) => h('button', { type: 'button', class: 'quiet', 'aria-label': `${text} example`, onclick: () => fill(all) }, text);
  const element = h('aside', { class: 'try console', 'aria-label': 'Try it' }, h('h2', null, 'Try it'), hint,
    h('form', { onsubmit: submit, oninput: refresh }, h('div', { class: 'inputs' }, fields.map((one) => one.element)),
      editor && h('div', { class: 'field' }, h('div', { class: 'field-head' }, h('label', { for: editor.id }, 'Request body'), bodyType, filler('Short', false), filler('Full', true)), editor, doubt),
      accept && h('div', { class: 'field' }, h('div', { class: 'label' }, 'Answer as'), accept), send),
    outcome, answer, curl);
  if (editor) fill(false);
  return { element, refresh };
}

// Sends a request; gives the line that sums the answer up, and what else there is to show of it.
async function exchange(operation, { method, url, headers, body }, signal) {
  const began = performance.now();
  let response, bytes;
  try {
    response = await fetch(url, { method, headers: new Headers(headers), body, signal, credentials: 'omit', cache: 'no-store' });
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    if (error.name === 'AbortError') return { line: ['Cancelled. The request may have reached the server all the same.'], parts: [] };
    return { line: ['No answer'], parts: [trouble('The server could not be reached', `Or it closed the connection, or a header holds what may not stand there. The browser says: ${error.message}.`)] };
  }
  const { status } = response;
  const size = bytes.length < 1024 ? `${bytes.length} bytes` : `${(bytes.length / 1024).toFixed(1)} kB`;
  const line = [h('span', { class: `status s${String(status)[0]}` }, `${status} ${response.statusText || REASONS[status] || ''}`),
    h('span', null, `${Math.round(performance.now() - began)} ms`), h('span', null, size)];
  return { line, parts: [explain(response, operation), ...bodyNodes(response, bytes), h('details', { class: 'headers' }, h('summary', null, 'Response headers'),
    h('dl', null, [...response.headers].map(([name, value]) => [h('dt', null, name), h('dd', null, value)])))].filter(Boolean) };
}

function bodyNodes(response, bytes) {
  if (!bytes.length) return [h('p', { class: 'note' }, 'The answer has no body.')];
  const type = response.headers.get('content-type') ?? '';
  const name = response.headers.get('content-disposition')?.match(/filename="?([^";]+)/)?.[1];
  const save = (words) => h('p', { class: 'note' }, words, h('a', { href: URL.createObjectURL(new Blob([bytes], { type })), download: name ?? 'answer' }, `Save as ${name ?? 'a file'}`));
  let text;
  try { text = new TextDecoder('utf-8', { fatal: true }).decode(bytes); } catch { /* bytes, then */ }
  if (text === undefined || text.includes('\0')) return [save('The body is not text. ')];
  const cut = text.length > SHOWN_CHARACTERS;
  const shown = cut ? text.slice(0, SHOWN_CHARACTERS) : /json/.test(type) && isJson(text) ? pretty(text) : text;
  return [block(type.split(';')[0] || 'body', shown, cut ? { whole: text } : {}), cut ? save('Only the beginning is shown. ') : name && save('')];
}

// What a refusal means here, in words.
function explain({ status, headers }, { needs }) {
  if (status === 401 && auth.token === null) return trouble('You are not logged in', 'This operation needs a token. ', loginLink('Log in'), ' and send it again.');
  if (status === 401) return trouble(isExpired() ? 'Your token has expired' : 'The server does not accept your token', loginLink('Log in again'), ' and send it again.');
  if (status === 403) {
    const lacking = auth.scopes ? needs.flat().flatMap(([, names]) => names).filter((name) => !auth.scopes.has(name)) : [];
    return trouble('Your token does not allow this', lacking.length ? ['It lacks ', lacking.map((name) => [code(name), ' '])] : 'It lacks a scope, or the reseller or the account is suspended: the answer says which.');
  }
  if (status === 429) return trouble('Too many requests', `Try again in ${headers.get('retry-after') ?? 'some'} seconds.`);
  return status >= 500 && trouble('The server failed', 'Try again in a moment. If it stays so, give the operator the request id from the headers.');
}

// ---- Logging in ----

const isExpired = () => auth.expires !== null && Date.now() >= auth.expires;

function setAuth(next) {
  auth = { ...NOBODY, ...next };
  const inside = auth.token !== null;
  for (const id of ['client-secret', 'pasted']) $(id).value = '';
  $('logged-in').hidden = !inside;
  $('logged-out').hidden = inside;
  $('dialog-title').textContent = inside ? 'Logged in' : 'Log in';
  $('who').replaceChildren(code(auth.who));
  $('scopes').replaceChildren(...(auth.scopes ? [...auth.scopes].map((name) => h('span', { class: 'scope' }, code(name))) : ['not known: only the server can tell']));
  $(inside ? 'done' : 'client-id').focus();
  showSession();
  for (const view of views.values()) view.refresh?.();
}

function showSession() {
  const minutes = auth.expires === null ? null : Math.ceil((auth.expires - Date.now()) / 60_000);
  const left = minutes === null ? '' : minutes <= 0 ? 'expired' : minutes < 100 ? `${minutes} min left` : `${Math.round(minutes / 60)} h left`;
  $('session').className = `session ${auth.token === null ? 'out' : isExpired() ? 'late' : 'in'}`;
  $('session').replaceChildren(auth.token === null ? 'Log in' : isExpired() ? 'Token expired' : 'Logged in', h('span', { class: 'left' }, isExpired() ? '' : left));
  $('until').textContent = auth.expires === null ? 'not known' : `${new Date(auth.expires).toLocaleString()} (${left})`;
}

// An access token of ours says in its second part what it allows; anything else is kept as it is.
function fromPasted(token) {
  try {
    const claims = JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
    return { token, who: claims.sub ?? 'pasted token', scopes: typeof claims.scope === 'string' ? new Set(claims.scope.split(' ')) : null, expires: claims.exp ? claims.exp * 1000 : null };
  } catch {
    return { token, who: 'pasted API key or token' };
  }
}

async function logIn() {
  const [client_id, client_secret, audience] = ['client-id', 'client-secret', 'audience'].map((id) => $(id).value.trim());
  const tokenUrl = Object.values(api.components?.securitySchemes ?? {}).map((scheme) => scheme.flows?.clientCredentials?.tokenUrl).find(Boolean);
  const wanted = JSON.stringify({ grant_type: 'client_credentials', client_id, client_secret, audience: audience || undefined });
  let response;
  try {
    response = await fetch(new URL(tokenUrl ?? 'oauth/token', documentUrl), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: wanted, credentials: 'omit', cache: 'no-store' });
  } catch (error) {
    throw new Error(`The token endpoint could not be reached: ${error.message}.`);
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok && body.access_token) {
    const scopes = body.scope === undefined ? null : new Set(body.scope.split(' ').filter(Boolean));
    return { token: body.access_token, who: client_id, scopes, expires: body.expires_in ? Date.now() + body.expires_in * 1000 : null };
  }
  const words = response.status === 401 ? 'The client id or the client secret is not right.' : `The server gave no token (${response.status}).`;
  throw new Error([words, body.error_description ?? body.message].filter(Boolean).join(' The server says: '));
}

function openDialog() {
  $('failure').textContent = '';
  showSession();
  $('dialog').showModal();
}

function listenToDialog() {
  const close = () => $('dialog').close();
  for (const id of ['close', 'done']) $(id).addEventListener('click', close);
  $('session').addEventListener('click', openDialog);
  $('dialog').addEventListener('click', (event) => { if (event.target === $('dialog')) close(); });
  $('copy-token').addEventListener('click', () => copyFrom($('copy-token'), auth.token));
  $('login').addEventListener('submit', async (event) => {
    event.preventDefault();
    $('failure').textContent = '';
    try { setAuth(await logIn()); } catch (error) { $('failure').textContent = error.message; }
  });
  $('paste').addEventListener('submit', (event) => {
    event.preventDefault();
    setAuth(fromPasted($('pasted').value.trim().replace(/^Bearer\s+/i, '')));
  });
  $('logout').addEventListener('click', () => {
    // Answers may hold keys: they go with the token.
    views.clear();
    setAuth(NOBODY);
    route(false);
  });
  setInterval(showSession, 10_000);
}

// ---- Navigation ----

function drawNavigation() {
  const link = (href, words, ...content) => h('li', { 'data-words': words.toLowerCase() }, h('a', { href }, content));
  const operationLink = (one) => link(toOperation(one), [one.method, one.path, one.title, one.id, one.tag].join(' '), badge(one.method), h('span', { class: one.deprecated && 'old' }, one.title));
  const names = Object.keys(api.components?.schemas ?? {});
  $('list').replaceChildren(h('ul', null, link('#', 'overview', 'Overview')), ...tags().map(({ name, list }) => section(name, h('ul', null, list.map(operationLink)))),
    h('section', { hidden: !names.length }, h('details', { id: 'schemas' }, h('summary', null, h('h2', null, 'Schemas'), names.length), h('ul', null, names.map((name) => link(toSchema(name), `schema ${name}`, name))))),
    h('p', { class: 'note', id: 'nothing', role: 'status' }));
}

function filter() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of $('list').querySelectorAll('li')) item.hidden = !words.every((word) => item.dataset.words.includes(word));
  for (const part of $('list').querySelectorAll('section')) part.hidden = !part.querySelector('li:not([hidden])');
  $('schemas').open = words.length > 0 || location.hash.startsWith('#schema-');
  $('nothing').textContent = $('list').querySelector('li:not([hidden])') ? '' : 'Nothing here by that name.';
}

// On a narrow screen the list lies over the page; elsewhere it always stands beside it.
function toggleMenu(wanted) {
  const open = wanted && $('menu').offsetWidth > 0;
  document.body.classList.toggle('menu-open', open);
  $('menu').setAttribute('aria-expanded', String(open));
  $('main').inert = open;
}

function build(address) {
  if (address === '') return overview();
  const name = address.replace(/^schema-/, '');
  if (name !== address && api.components?.schemas?.[name]) return schemaView(name);
  const operation = operations.find(({ id }) => id === address);
  if (operation) return operationView(operation);
  return { title: 'Not found', element: h('div', null, h('h1', { tabindex: -1 }, 'Not in this document'), h('p', { class: 'lead' }, 'There is no operation or schema called ', code(address), '. ', h('a', { href: '#' }, 'See what there is'), '.')) };
}

function route(moved) {
  let address = location.hash.slice(1);
  try { address = decodeURIComponent(address); } catch { /* looked up as it stands */ }
  if (!views.has(address)) views.set(address, build(address));
  const view = views.get(address);
  $('main').replaceChildren(view.element);
  document.title = address ? `${view.title} · ${api.info.title}` : view.title;
  view.element.querySelector('details.response')?.toggleAttribute('open', true);
  if (address.startsWith('schema-')) $('schemas').open = true;
  for (const link of $('list').querySelectorAll('a')) link.setAttribute('aria-current', link.hash === location.hash ? 'page' : 'false');
  $('list').querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  if (!moved) return;
  toggleMenu(false);
  scrollTo(0, 0);
  view.element.querySelector('h1').focus({ preventScroll: true });
}

function listen() {
  addEventListener('hashchange', () => route(true));
  $('filter').addEventListener('input', filter);
  $('menu').addEventListener('click', () => toggleMenu(!document.body.classList.contains('menu-open')));
  $('skip').addEventListener('click', (event) => { event.preventDefault(); $('main').focus(); });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && document.body.classList.contains('menu-open')) { toggleMenu(false); $('menu').focus(); }
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || $('dialog').open || event.target.closest?.('input, textarea, select')) return;
    event.preventDefault();
    toggleMenu(true);
    $('filter').focus();
  });
}

async function start() {
  try {
    const response = await fetch(documentUrl);
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    api = await response.json();
  } catch (error) {
    $('main').replaceChildren(trouble('The document could not be loaded', `From ${documentUrl}: ${error.message}.`));
    return;
  }
  base = new URL(api.servers?.[0]?.url ?? '.', documentUrl).href.replace(/\/$/, '');
  operations = readOperations();
  linkable = new Map([...Object.keys(api.components?.schemas ?? {}).map((name) => [name, toSchema(name)]),
    ...operations.map((one) => [`${one.method.toUpperCase()} ${one.path}`, toOperation(one)])]);
  $('version').textContent = api.info.version;
  drawNavigation();
  listen();
  listenToDialog();
  route(false);
  // RFC 8414 metadata; a server without it only leaves the field empty.
  const metadata = await fetch(new URL('.well-known/oauth-authorization-server', documentUrl)).then((response) => (response.ok ? response.json() : {})).catch(() => ({}));
  $('audience').value ||= metadata.chancery_audience ?? '';
}

start();
