"""Who somebody is: phone links, backend login, browser binding, API keys, the token vault."""
