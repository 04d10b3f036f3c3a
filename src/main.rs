//! Wasm entry: install the panic screen, mount the page.

fn main() {
    seven_of_eight::ui::start();
}
