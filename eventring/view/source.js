// SPDX-License-Identifier: MIT
// source.js: where the page takes its data from.
//
// The page asks a source for sections by name and knows nothing else of it. A source has
// names() and section(name), a promise of the parsed value, or of null if there is none. This
// one reads the elements of the file; it is the only script that knows of them.

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text.trim());
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpackSection(text) {
  const packed = new Blob([bytesOfBase64(text)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).json();
}

// The sections of this file. What cannot be read is told to `complain` and is null.
function fileSource(complain) {
  const elements = new Map();
  for (const element of document.querySelectorAll('script[type="application/x-eventring"]'))
    elements.set(element.id.slice("section:".length), element);
  const read = new Map(); // promises, but not of chunks, which their readers keep
  async function unpack(name) {
    const element = elements.get(name);
    if (!element) return null;
    try {
      return await unpackSection(element.textContent);
    } catch (error) {
      complain(`The section ${name} cannot be read: ${error.message}`);
      return null;
    }
  }
  return {
    names: () => [...elements.keys()],
    section(name) {
      if (name.startsWith("spans:")) return unpack(name);
      if (!read.has(name)) read.set(name, unpack(name));
      return read.get(name);
    },
  };
}
